// Answers of servers as they are in the wild, one oddity a test: what a load client makes of each.
#include "serving/answers/answer_reader.h"

#include <gtest/gtest.h>

namespace warpmark::serving {
namespace {

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

std::string event(const std::string& json) { return chunk("data: " + json + "\n\n"); }
std::string delta(const std::string& inside, const std::string& more = "") {
  return event(R"({"id":"x","choices":[{"index":0,"delta":{)" + inside + R"(},"finish_reason":null}])" + more + "}");
}
const std::string kRole = delta(R"("role":"assistant","content":"")");
const std::string kFinish = event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
const std::string kUsage =
    event(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}})");
const std::string kDone = event("[DONE]");
const std::string kEnd = "0\r\n\r\n";

std::string word(const std::string& text) { return delta(R"("content":")" + text + "\""); }

/// Reads pieces, a millisecond apart: piece i arrives at (i + 1) ms.
class Reading {
 public:
  explicit Reading(AnswerFormat format = {.streams = true, .done_mark = "[DONE]"})
      : format_(std::move(format)), reader(format_) {
    record.sent_ns = 1;
    reader.begin(record);
  }
  Reading& take(const std::vector<std::string>& pieces) {
    for (const auto& piece : pieces) {
      if (!reader.ended()) reader.take(piece, now_ns += 1'000'000);
    }
    return *this;
  }
  Reading& end() {
    reader.end_of_connection(now_ns += 1'000'000);
    return *this;
  }

 private:
  AnswerFormat format_;

 public:
  RequestRecord record;
  AnswerReader reader;
  std::int64_t now_ns = 0;
};

std::string with_head(const std::string& body) { return std::string(kStreamHead) + body; }
constexpr std::int64_t ms(std::int64_t count) { return count * 1'000'000; }

TEST(Answer, times_the_first_token_and_not_the_role) {
  Reading reading;
  reading.take({with_head(kRole), word("a"), word("b"), kFinish + kUsage + kDone + kEnd});
  EXPECT_TRUE(reading.reader.ended());
  EXPECT_EQ(reading.record.fault, Fault::none) << reading.record.message;
  EXPECT_EQ(reading.record.first_byte_ns, ms(1));
  EXPECT_EQ(reading.record.first_token_ns, ms(2));
  EXPECT_EQ(reading.record.first_visible_ns, ms(2));
  EXPECT_EQ(reading.record.last_token_ns, ms(3));
  EXPECT_EQ(reading.record.ended_ns, ms(4));
  EXPECT_EQ(reading.record.prompt_tokens, 9);
  EXPECT_EQ(reading.record.output_tokens, 3);
  EXPECT_EQ(reading.record.events, 2);
  EXPECT_TRUE(reading.reader.reusable());
}

TEST(Answer, keeps_reasoning_apart_from_what_a_user_sees) {
  Reading reading;
  reading.take({with_head(kRole), delta(R"("reasoning_content":"hm")"), delta(R"("reasoning":"hm")"), word("a"),
                kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.first_token_ns, ms(2));
  EXPECT_EQ(reading.record.first_visible_ns, ms(4));
  EXPECT_EQ(reading.record.events, 3);
}

TEST(Answer, has_no_visible_token_where_all_is_reasoning) {
  Reading reading;
  reading.take({with_head(delta(R"("reasoning":"hm","content":null)")), kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none);
  EXPECT_EQ(reading.record.first_visible_ns, 0);
  EXPECT_EQ(reading.record.first_token_ns, ms(1));
}

TEST(Answer, takes_a_tool_call_for_something_visible) {
  Reading reading;
  reading.take({with_head(kRole), delta(R"("tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}])"),
                kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.first_visible_ns, ms(2));
  EXPECT_EQ(reading.record.fault, Fault::none);
}

TEST(Answer, counts_events_that_come_in_one_read) {
  Reading reading;
  reading.take({with_head(word("a") + word("b") + word("c")), kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.events, 3);
  ASSERT_EQ(reading.record.gaps_s.size(), 2U);
  EXPECT_EQ(reading.record.gaps_s[0], 0);
}

TEST(Answer, knows_how_many_tokens_each_event_holds_where_the_server_says_so) {
  const auto reported = [](int n) {
    return R"(,"usage":{"prompt_tokens":5,"completion_tokens":)" + std::to_string(n) + "}";
  };
  Reading reading;
  reading.take({with_head(delta(R"("content":"a")", reported(2))), delta(R"("content":"b")", reported(5)),
                delta(R"("content":"c")", reported(6)), kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.gap_tokens, (std::vector<std::uint16_t>{3, 1}));
  EXPECT_EQ(reading.record.output_tokens, 6);
}

TEST(Answer, finds_usage_in_the_finishing_event) {
  Reading reading;
  reading.take(
      {with_head(word("a")), event(R"({"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":4,)"
                                   R"("completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":0},)"
                                   R"("prompt_tokens_details":{"cached_tokens":2}}})") +
                                 kDone + kEnd});
  EXPECT_EQ(reading.record.output_tokens, 1);
  EXPECT_EQ(reading.record.cached_tokens, 2);
  EXPECT_EQ(reading.record.reasoning_tokens, 0);
}

TEST(Answer, does_without_usage) {
  Reading reading;
  reading.take({with_head(word("a")), kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none);
  EXPECT_EQ(reading.record.output_tokens, -1);
}

TEST(Answer, reads_crlf_comments_and_a_byte_order_mark) {
  Reading reading;
  reading.take(
      {with_head(chunk("\xEF\xBB\xBF: keep-alive\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n")),
       kFinish + kDone + kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none) << reading.record.message;
  EXPECT_EQ(reading.record.events, 1);
}

TEST(Answer, reads_the_same_whatever_the_reads_cut) {
  const std::string whole = with_head(kRole + word("你好 😀") + word("\\\"q\\\\") + kFinish + kUsage + kDone + kEnd);
  for (std::size_t size = 1; size < 60; ++size) {
    Reading reading;
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < whole.size(); i += size) pieces.push_back(whole.substr(i, size));
    reading.take(pieces);
    EXPECT_EQ(reading.record.fault, Fault::none) << size << " " << reading.record.message;
    EXPECT_EQ(reading.record.events, 2) << size;
    EXPECT_EQ(reading.record.output_tokens, 3) << size;
  }
}

TEST(Answer, is_an_error_where_an_error_comes_under_200) {
  Reading reading;
  reading.take(
      {with_head(word("a")), event(R"({"error":{"message":"out of memory","type":"server_error","code":507}})")});
  EXPECT_EQ(reading.record.fault, Fault::stream_error);
  EXPECT_EQ(reading.record.message, "out of memory");
  EXPECT_EQ(reading.record.status, 507);
}

TEST(Answer, misses_the_end_mark_but_is_whole_where_it_said_finished) {
  Reading reading;
  reading.take({with_head(word("a")), kFinish + kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none);
  EXPECT_TRUE(reading.record.without_done);
}

TEST(Answer, is_truncated_without_end_mark_and_finish) {
  Reading reading;
  reading.take({with_head(word("a")), kEnd});
  EXPECT_EQ(reading.record.fault, Fault::truncated);
  Reading cut;
  cut.take({with_head(word("a"))}).end();
  EXPECT_EQ(cut.record.fault, Fault::truncated);
}

TEST(Answer, ends_with_its_mark_where_the_connection_is_cut_after_it) {
  Reading reading;
  reading.take({with_head(word("a")), kFinish + kDone}).end();
  EXPECT_EQ(reading.record.fault, Fault::none);
  EXPECT_FALSE(reading.reader.reusable());
}

TEST(Answer, tells_refusals_with_what_the_server_said) {
  const std::string body = R"({"error":{"message":"slow down"}})";
  Reading reading;
  reading.take(
      {"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Type: application/json\r\nContent-Length: " +
       std::to_string(body.size()) + "\r\n\r\n" + body});
  EXPECT_EQ(reading.record.fault, Fault::http_status);
  EXPECT_EQ(reading.record.status, 429);
  EXPECT_EQ(reading.record.retry_after_s, 7);
  EXPECT_EQ(reading.record.message, "slow down");
  Reading html;
  html.take({"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\n\r\n<html>\n</ht>"});
  EXPECT_EQ(html.record.status, 502);
  EXPECT_EQ(html.record.message, "<html> </ht>");
}

TEST(Answer, does_not_follow_redirects) {
  Reading reading;
  reading.take({"HTTP/1.1 307 x\r\nLocation: http://other/\r\nContent-Length: 0\r\n\r\n"});
  EXPECT_EQ(reading.record.fault, Fault::redirect);
  EXPECT_EQ(reading.record.message, "to http://other/");
}

TEST(Answer, gives_up_on_lines_beyond_the_cap_and_on_what_is_no_json) {
  Reading huge({.streams = true, .done_mark = "[DONE]", .stream_limits = {.line_bytes = 1000}});
  huge.take({with_head(chunk("data: " + std::string(2000, 'x')))});
  EXPECT_EQ(huge.record.fault, Fault::bad_stream);
  Reading text;
  text.take({with_head(event("hello"))});
  EXPECT_EQ(text.record.fault, Fault::bad_stream);
}

TEST(Answer, is_empty_without_a_token) {
  Reading reading;
  reading.take({with_head(kRole + kFinish + kDone + kEnd)});
  EXPECT_EQ(reading.record.fault, Fault::empty);
}

TEST(Answer, is_no_stream_where_json_comes_instead) {
  const std::string body = R"({"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],)"
                           R"("usage":{"prompt_tokens":3,"completion_tokens":1}})";
  Reading reading;
  reading.take({"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body});
  EXPECT_EQ(reading.record.fault, Fault::none);
  EXPECT_EQ(reading.record.output_tokens, 1);
}

TEST(Answer, of_the_messages_api_is_understood) {
  Reading reading({.streams = true, .done_mark = ""});
  reading.take(
      {with_head(event(
           R"({"type":"message_start","message":{"type":"message","usage":{"input_tokens":12,"output_tokens":1}}})")),
       event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"),
       event(R"({"type":"ping"})"),
       event(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})"),
       event(R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}})"),
       event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}})"),
       event(R"({"type":"message_stop"})") + kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none) << reading.record.message;
  EXPECT_EQ(reading.record.first_token_ns, ms(4));
  EXPECT_EQ(reading.record.first_visible_ns, ms(5));
  EXPECT_EQ(reading.record.prompt_tokens, 12);
  EXPECT_EQ(reading.record.output_tokens, 4);
}

TEST(Answer, of_the_responses_api_is_understood) {
  Reading reading({.streams = true, .done_mark = ""});
  reading.take(
      {with_head(event(R"({"type":"response.created","response":{"status":"in_progress","error":null,"usage":null}})")),
       event(R"({"type":"response.reasoning_text.delta","delta":"hm"})"),
       event(R"({"type":"response.output_text.delta","delta":"a"})"),
       event(R"({"type":"response.output_text.done","text":"a"})"),
       event(R"({"type":"response.completed","response":{"output":[{"content":[{"text":"a"}]}],)"
             R"("usage":{"input_tokens":8,"output_tokens":2,)"
             R"("output_tokens_details":{"reasoning_tokens":1}}}})") +
           kEnd});
  EXPECT_EQ(reading.record.fault, Fault::none) << reading.record.message;
  EXPECT_EQ(reading.record.events, 2);
  EXPECT_EQ(reading.record.first_visible_ns, ms(3));
  EXPECT_EQ(reading.record.output_tokens, 2);
  EXPECT_EQ(reading.record.reasoning_tokens, 1);
}

}  // namespace
}  // namespace warpmark::serving
