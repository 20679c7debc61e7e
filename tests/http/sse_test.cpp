// Streams of events, cut anywhere.
#include "http/sse.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace warpmark::http {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events events_of(std::string_view bytes, std::size_t size, SseParser& parser) {
  Events events;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    std::string_view piece = bytes.substr(0, size);
    while (const auto event = parser.next(piece)) events.emplace_back(event->type, event->data);
    if (parser.failed()) break;
  }
  return events;
}

void expect_events(std::string_view bytes, const Events& expected) {
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    SseParser parser;
    EXPECT_EQ(events_of(bytes, size, parser), expected) << "pieces of " << size;
    EXPECT_FALSE(parser.failed());
  }
}

TEST(SseParser, ends_lines_by_lf_crlf_and_cr) {
  const Events expected{{"", "a"}, {"", "b"}};
  expect_events("data: a\n\ndata: b\n\n", expected);
  expect_events("data: a\r\n\r\ndata: b\r\n\r\n", expected);
  expect_events("data: a\r\rdata: b\r\r", expected);
  expect_events("data: a\r\n\ndata: b\n\r\n", expected);
}

TEST(SseParser, passes_over_mark_comments_and_unknown_fields) {
  expect_events("\xEF\xBB\xBF: ping\ndata: a\nid: 7\nretry: 5\nfoo\n\n:\n\n", {{"", "a"}});
  SseParser parser;
  (void)events_of(": one\n:two\n\n", 100, parser);
  EXPECT_EQ(parser.comments(), 2U);
}

TEST(SseParser, joins_lines_of_data_and_takes_one_blank_off) {
  expect_events("event: x\ndata:a\ndata:  b\ndata\n\n", {{"x", "a\n b\n"}});
}

TEST(SseParser, gives_utf8_whole_where_reads_cut_it) { expect_events("data: 你好 😀 é\n\n", {{"", "你好 😀 é"}}); }

TEST(SseParser, forgets_the_type_of_an_event_without_data) { expect_events("event: x\n\ndata: a\n\n", {{"", "a"}}); }

TEST(SseParser, holds_what_has_not_ended) {
  SseParser parser;
  EXPECT_TRUE(events_of("data: [DONE]", 4, parser).empty());
  const auto last = parser.unfinished();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->data, "[DONE]");
  parser.begin();
  EXPECT_FALSE(parser.unfinished().has_value());
}

TEST(SseParser, fails_at_its_limits_instead_of_growing) {
  SseParser lines({.line_bytes = 100, .event_bytes = 1000});
  (void)events_of("data: " + std::string(200, 'x'), 16, lines);
  EXPECT_TRUE(lines.failed());
  SseParser events({.line_bytes = 100, .event_bytes = 150});
  std::string many;
  for (int i = 0; i < 10; ++i) many += "data: " + std::string(50, 'y') + "\n";
  (void)events_of(many, 16, events);
  EXPECT_TRUE(events.failed());
}

}  // namespace
}  // namespace warpmark::http
