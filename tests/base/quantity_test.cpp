// Numbers with units, as the sentences of findings and the tables of reports tell them.
#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace warpmark {
namespace {

TEST(Quantity, times_keep_three_digits) {
  EXPECT_EQ(format_times(0.93), "0.93x");
  EXPECT_EQ(format_times(1.4326), "1.43x");
  EXPECT_EQ(format_times(9.996), "10.0x");
  EXPECT_EQ(format_times(28.44), "28.4x");
  EXPECT_EQ(format_times(312.4), "312x");
  EXPECT_EQ(format_times(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(Quantity, seconds_have_the_prefix_that_leaves_one_digit_before_the_point) {
  EXPECT_EQ(format_seconds(3.5e-6), "3.500 µs");
  EXPECT_EQ(format_seconds(0.01399), "13.99 ms");
  EXPECT_EQ(format_seconds(0), "0 s");
}

}  // namespace
}  // namespace warpmark
