// Users' regular expressions: what they find, that none of them can keep the tool busy, and what is said of the others.
#include "validate/commands/line_pattern.h"

#include <gmock/gmock.h>

namespace warpmark::validate {
namespace {

using ::testing::HasSubstr;

std::string found(std::string_view expression, std::string_view line) {
  const auto pattern = LinePattern::compile(expression);
  EXPECT_TRUE(pattern.ok()) << expression << ": " << (pattern.ok() ? "" : pattern.error().what);
  return pattern.ok() ? pattern->find(line).value_or("nothing") : "";
}

TEST(LinePattern, takes_the_first_group_or_the_whole_of_the_leftmost_match) {
  EXPECT_EQ(found("loss ([0-9.e-]+)", "step 2 loss 3.5e-1 loss 9"), "3.5e-1");
  EXPECT_EQ(found("[0-9]+", "a 12 b 34"), "12");
  EXPECT_EQ(found("(?:x|y)=(\\d+)(ms)?", "y=5"), "5");
  EXPECT_EQ(found("(?P<value>\\d+) img/s", "throughput: 812 img/s"), "812");
  EXPECT_EQ(found("(?i)LOSS=(.*)$", "loss=7"), "7");
  EXPECT_EQ(found("(a)?(b)", "b"), "") << "a group that took no part";
  EXPECT_EQ(found("loss", "gain 3"), "nothing");
}

TEST(LinePattern, ends_where_backtracking_would_not) {
  const std::string many(100'000, 'a');
  EXPECT_EQ(found("(a+)+$", many + "!"), "nothing");
  EXPECT_EQ(found("(a|aa)+b", many), "nothing");
  EXPECT_EQ(found("(.*a){20}b", many), "nothing");
  EXPECT_EQ(found("(x+x+)+y", std::string(100'000, 'x')), "nothing");
  EXPECT_EQ(found("(.*) (\\d+)$", many + " 17").size(), many.size());
}

TEST(LinePattern, reads_lines_of_any_length_and_any_bytes) {
  EXPECT_EQ(found("value=([0-9]+)", std::string(1 << 20, '-') + "value=42"), "42");
  EXPECT_EQ(found("time.*: ([0-9.]+)", "time (\xb5s): 12.5"), "12.5") << "Latin-1";
  EXPECT_EQ(found("time.*: ([0-9.]+)", "time (\xc2\xb5s): 12.5"), "12.5") << "UTF-8";
  EXPECT_EQ(found("time \\([\xc2\xb5m]s\\): ([0-9.]+)", "time (\xc2\xb5s): 12.5"), "12.5")
      << "one character of two bytes";
  EXPECT_EQ(found("^(.)$", "\xc2\xb5"), "nothing") << "ASCII expressions see bytes";
  EXPECT_EQ(found("b=(\\d+)", std::string_view("a\0 b=3", 6)), "3");
}

TEST(LinePattern, says_what_is_wrong_and_what_to_write_instead) {
  const auto error = [](const std::string& expression) {
    const auto pattern = LinePattern::compile(expression);
    EXPECT_FALSE(pattern.ok()) << expression;
    return pattern.ok() ? std::string() : pattern.error().what + " | " + pattern.error().hint;
  };
  EXPECT_EQ(error("("), "'(' is not valid: missing ) '(' | the syntax is that of RE2");
  for (const std::string expression : {"(?=loss)x", "x(?!y)", "(?<=loss )[0-9]+", "(?<!a)b"}) {
    EXPECT_THAT(error(expression), HasSubstr("there is no look-around")) << expression;
  }
  if (const auto named = LinePattern::compile("(?<n>a)"); !named.ok()) {  // RE2 of 2023-09 and newer knows it
    EXPECT_THAT(named.error().hint, HasSubstr("(?P<name>...)"));
  }
  EXPECT_THAT(error("(a)\\1"), HasSubstr("there are no backreferences"));
  EXPECT_THAT(error("(?P<n>a)\\k<n>"), HasSubstr("there are no backreferences"));
  EXPECT_THAT(error("\\"), HasSubstr("trailing \\"));
  EXPECT_THAT(error("((a{100}){100}){100}"), HasSubstr("{100}"));
  EXPECT_THAT(error(std::string("\xc2\xb5\xff", 3)), HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace warpmark::validate
