#include "stats/error_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace warpmark::stats {
namespace {

TEST(ErrorNorm, is_the_norm_of_the_difference_over_the_norm_of_the_reference) {
  const std::vector<double> reference = {3, 4, 0};
  const std::vector<double> out = {3, 4, 0.5};
  EXPECT_DOUBLE_EQ(relative_error(out, reference), 0.1);
  EXPECT_EQ(relative_error(reference, reference), 0);
  const std::vector<float> narrow = {3.0F, 4.0F, 0.5F};
  EXPECT_DOUBLE_EQ(relative_error(narrow, reference), 0.1);
  EXPECT_DOUBLE_EQ(relative_error(narrow, std::vector<float>{3, 4, 0}), 0.1);
}

TEST(ErrorNorm, sees_a_small_error_of_float_in_fp64) {
  const std::vector<float> out(1000, 1.0F / 3.0F);
  const std::vector<double> reference(1000, 1.0 / 3.0);
  EXPECT_NEAR(relative_error(out, reference), std::fabs(static_cast<double>(1.0F / 3.0F) * 3.0 - 1.0), 1e-15);
}

TEST(ErrorNorm, fails_on_a_nan_or_infinity_in_the_output) {
  const std::vector<double> reference = {1, 2, 3};
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(relative_error(std::vector<double>{1, bad, 3}, reference), kFailedError);
    EXPECT_EQ(relative_error(reference, std::vector<double>{1, bad, 3}), kFailedError);
  }
}

TEST(ErrorNorm, fails_where_the_squares_overflow_instead_of_passing) {
  EXPECT_EQ(relative_error(std::vector<double>{1e200}, std::vector<double>{1e200 * 2}), kFailedError);
}

TEST(ErrorNorm, accepts_only_zeros_against_an_all_zero_reference) {
  const std::vector<double> zeros(4, 0.0);
  EXPECT_EQ(relative_error(zeros, zeros), 0);
  EXPECT_EQ(relative_error(std::vector<double>{0, 0, 1e-30, 0}, zeros), kFailedError);
}

TEST(ErrorNorm, fails_when_nothing_was_compared) { EXPECT_EQ(ErrorNorm().value(), kFailedError); }

TEST(ErrorNorm, merges_parts_into_the_whole) {
  ErrorNorm whole, first, second;
  for (int i = 1; i <= 10; ++i) {
    whole.add(i + 0.5, i);
    (i <= 4 ? first : second).add(i + 0.5, i);
  }
  first.merge(second);
  EXPECT_EQ(first.count(), 10);
  EXPECT_DOUBLE_EQ(first.value(), whole.value());
  second.add(std::nan(""), 1);
  first.merge(second);
  EXPECT_EQ(first.value(), kFailedError);
}

}  // namespace
}  // namespace warpmark::stats
