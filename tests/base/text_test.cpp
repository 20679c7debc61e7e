#include "base/text.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

TEST(Glob, matches_whole_texts) {
  EXPECT_TRUE(glob_match("gemm*", "gemm"));
  EXPECT_TRUE(glob_match("*top*", "top_k_patches"));
  EXPECT_TRUE(glob_match("c?py", "copy"));
  EXPECT_TRUE(glob_match("a*b*c", "a_bb_bc"));
  EXPECT_FALSE(glob_match("gemm", "gemm2"));
  EXPECT_FALSE(glob_match("*x", "gemm"));
  EXPECT_TRUE(glob_match("*", "*starred"));
  EXPECT_TRUE(glob_match("*b", "*ab"));
}

TEST(Nearest, suggests_a_typing_error_and_nothing_else) {
  const std::vector<std::string> words{"gemm", "conv2d", "attention"};
  EXPECT_EQ(nearest("gem", words), "gemm");
  EXPECT_EQ(nearest("atention", words), "attention");
  EXPECT_EQ(nearest("conv", words), "conv2d");
  EXPECT_EQ(nearest("h100", std::vector<std::string>{"b100", "h100-sxm"}), "h100-sxm")
      << "a beginning before a typing error";
  EXPECT_EQ(nearest("zzzzzzzz", words), "");
  EXPECT_EQ(nearest("mm", words), "") << "of two letters, one is not enough";
  EXPECT_EQ(nearest("gem" + std::string(200'000, 'm'), words), "");
}

TEST(ShellQuote, keeps_any_text_one_word) {
  EXPECT_EQ(shell_quote("m=1024"), "m=1024");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
}

TEST(DisplayWidth, counts_columns_of_a_terminal) {
  EXPECT_EQ(display_width("±µs"), 3U);
  EXPECT_EQ(display_width("größe"), 5U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("한글"), 4U);
  EXPECT_EQ(display_width("gro\xcc\x88\xc3\x9f"
                          "e"),
            5U)
      << "a combining mark";
  EXPECT_EQ(display_width("\xf0\x9f\x9a\x80"), 2U) << "an emoji";
  EXPECT_EQ(display_width("\xff\xfe"), 2U) << "bytes that are no UTF-8";
  EXPECT_EQ(display_width(""), 0U);
}

}  // namespace
}  // namespace warpmark
