#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>

namespace warpmark {
namespace {

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(Json, is_refused_where_it_is_nested_so_deep_that_copying_it_would_overflow_the_stack) {
  const auto deep = parse_json(nested(1'000'000), "a.json");
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().kind, ErrorKind::data);
  EXPECT_NE(deep.error().what.find("a.json is nested more than 1000 levels deep"), std::string::npos);
  EXPECT_FALSE(parse_json(std::string(1'000'000, '{'), "a.json").ok());

  const auto fine = parse_json(nested(1000), "a.json");
  ASSERT_TRUE(fine.ok()) << fine.error().what;
  const Json copy = *fine;
  EXPECT_EQ(dump_json(copy, -1), nested(1000));
}

TEST(Json, counts_no_brackets_within_strings) {
  const auto json = parse_json("[\"\\\"" + std::string(2000, '[') + "\", \"\\\\\", [" + "]]", "a.json");
  ASSERT_TRUE(json.ok()) << json.error().what;
  EXPECT_EQ(json->size(), 3U);
}

TEST(Json, says_where_it_is_broken_in_plain_words) {
  const auto said = [](const std::string& text) { return parse_json(text, "a.json").error().what; };
  EXPECT_EQ(said(""), "a.json is empty, where JSON is expected");
  EXPECT_EQ(said(" \n"), "a.json is empty, where JSON is expected");
  EXPECT_EQ(said("{\"a\": 1,\n x}"),
            "a.json is not valid JSON: line 2, column 2: invalid literal; last read: '1,<U+000A> x'");
  EXPECT_EQ(said("[1, 2"), "a.json is not valid JSON: line 1, column 6: unexpected end of input");
  EXPECT_EQ(said("[1e999]"), "a.json is not valid JSON: number overflow parsing '1e999'");
}

TEST(Json, with_many_keys_is_read_in_their_order_and_the_last_of_a_name_counts) {
  constexpr int kKeys = 300'000;  // minutes, if each key were compared with all before it
  std::string text = "{\"0\":7";
  for (int i = 0; i < kKeys; ++i) text += fmt::format(",\"{}\":{}", i, i);
  const auto json = parse_json(text + ",\"5\":[{\"a\":1,\"a\":2}]}", "a.json");
  ASSERT_TRUE(json.ok()) << json.error().what;
  ASSERT_EQ(json->size(), std::size_t{kKeys});
  EXPECT_EQ(json->begin().key(), "0");
  EXPECT_EQ(json->begin().value(), 0);
  EXPECT_EQ(std::next(json->begin(), 5).value().dump(), "[{\"a\":2}]");
  EXPECT_EQ(std::prev(json->end()).key(), "299999");
}

TEST(DumpJson, escapes_what_may_not_be_shown_and_reads_back_the_same) {
  const Json json{{"a", "\u009b2J \x7f\x1b \u202e\u2066 µ 日 \U0001f600"}};
  const std::string text = dump_json(json, -1);
  EXPECT_EQ(text, "{\"a\":\"\\u009b2J \\u007f\\u001b \\u202e\\u2066 µ 日 \U0001f600\"}");
  const auto again = parse_json(text, "it");
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(*again, json);
  EXPECT_EQ(dump_json("\xff", -1), "\"\uFFFD\"");
}

}  // namespace
}  // namespace warpmark
