#include "report/draw/wrap.h"

#include <gtest/gtest.h>

namespace warpmark::report {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, breaks_between_words_and_never_inside_one) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("see abcdefgh there", 6), (Lines{"see", "abcdefgh", "there"}));
  EXPECT_EQ(wrap("fused_texture/n:64/time", 10), (Lines{"fused_texture/n:64/time"}));
  EXPECT_EQ(wrap("µµ µµ", 2), (Lines{"µµ", "µµ"}));
  EXPECT_EQ(wrap("", 5), (Lines{""}));
}

TEST(Wrap, keeps_a_unit_with_its_number) {
  EXPECT_EQ(wrap("takes 14.0 ms (37.0 %) of it", 12), (Lines{"takes", "14.0 ms", "(37.0 %) of", "it"}));
  EXPECT_EQ(wrap("in 558 kernels", 7), (Lines{"in 558", "kernels"}));
  EXPECT_EQ(wrap("1234 GB/s", 6), (Lines{"1234", "GB/s"}));  // there is no room for both
}

TEST(WrapLines, keeps_indents_and_makes_commands_that_can_be_pasted) {
  EXPECT_EQ(wrap_lines("a long note\n  and its indented part\n", 14), "a long note\n  and its\n  indented\n  part\n");
  EXPECT_EQ(wrap_lines("next:\n  warpmark compare one two --rounds 7", 28),
            "next:\n  warpmark compare one two \\\n      --rounds 7\n");
  EXPECT_EQ(wrap_lines("", 14), "");
}

TEST(WrapCode, breaks_at_blanks_outside_of_quotes) {
  EXPECT_EQ(wrap_code("python3 train.py", 20), (Lines{"python3 train.py"}));
  EXPECT_EQ(wrap_code("run --copy 'a long name' --to b", 18),
            (Lines{"run --copy \\", "    'a long name' \\", "    --to b"}));
  EXPECT_EQ(wrap_code("run --one first --two second --three", 24),
            (Lines{"run --one first \\", "    --two second --three"}));
  EXPECT_EQ(wrap_code("  x = f(one, two, three)", 18), (Lines{"  x = f(one, \\", "      two, three)"}));
  EXPECT_EQ(wrap_code("    size   count   time   busbw", 20), (Lines{"    size   count   time   busbw"}));
}

TEST(WrapCode, puts_a_comment_above_a_line_that_is_too_long) {
  EXPECT_EQ(wrap_code("model = model.to(x)  # and don't forget the inputs", 24),
            (Lines{"# and don't forget the", "# inputs", "model = model.to(x)"}));
}

}  // namespace
}  // namespace warpmark::report
