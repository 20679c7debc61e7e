// Numbers with units, as the sentences of findings and the tables of reports tell them.
#include "base/units.h"

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

TEST(Quantity, sizes_are_exact_where_few_digits_tell_them_and_rounded_alike_where_not) {
  constexpr double kMebi = 1024 * 1024;
  EXPECT_EQ(format_bytes(4096), "4 KiB");
  EXPECT_EQ(format_bytes(1.5 * kMebi * 1024), "1.5 GiB");
  EXPECT_EQ(format_bytes(1000), "1000 B");
  EXPECT_EQ(format_bytes(3.625 * kMebi), "3.63 MiB");  // beside 3.57 MiB
  EXPECT_EQ(format_bytes(64 * kMebi + 16384), "64.0 MiB");
  EXPECT_EQ(format_bytes(64 * kMebi + 16384, 4), "64.02 MiB");
  EXPECT_EQ(format_bytes(1010.7 * 1024), "1011 KiB");
  EXPECT_EQ(format_bytes(1010.7 * 1024, 5), "1010.7 KiB");
}

}  // namespace
}  // namespace warpmark
