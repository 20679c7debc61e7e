// What makes the history of a conversation a true prefix of its next turn, and which idle connection is taken.
#include "serving/client/conversation.h"

#include <gtest/gtest.h>

#include "serving/client/idle_slots.h"

namespace warpmark::serving {
namespace {

TEST(Conversation, holds_the_answers_where_their_marks_stood_and_its_new_length) {
  const std::string body = R"({"messages":["q1",")" + answer_mark(0) + R"(","q2",")" + answer_mark(1) + R"(","q3"]})";
  PreparedRequest request{.bytes = "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n"};
  request.body_at = request.bytes.size();
  request.bytes += body;
  const std::string sent = with_answers(request, {R"(first \"one\")", ""});
  const std::string wanted = R"({"messages":["q1","first \"one\"","q2","","q3"]})";
  EXPECT_EQ(sent, "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(wanted.size()) + "\r\n\r\n" + wanted);
}

TEST(IdleSlots, give_the_connection_that_has_waited_longest_to_the_same_server) {
  IdleSlots idle(2);
  idle.keep(0, 5);
  idle.keep(1, 6);
  idle.keep(0, 7);
  idle.free(8);
  EXPECT_EQ(idle.connected(), 3U);
  EXPECT_EQ(idle.take(0), 5U);
  EXPECT_EQ(idle.take(0), 7U);
  EXPECT_FALSE(idle.take(0));
  EXPECT_EQ(idle.take(1), 6U);
  EXPECT_EQ(idle.take_free(), 8U);
  EXPECT_FALSE(idle.take_free());
}

}  // namespace
}  // namespace warpmark::serving
