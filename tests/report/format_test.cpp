#include "report/draw/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace warpmark::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FormatSeconds, shows_four_digits_with_a_prefix) {
  EXPECT_EQ(format_seconds(12.34e-6), "12.34 µs");
  EXPECT_EQ(format_seconds(1.2e-3), "1.200 ms");
  EXPECT_EQ(format_seconds(61.2), "61.20 s");
  EXPECT_EQ(format_seconds(4000), "4000 s");
  EXPECT_EQ(format_seconds(3.21e-9), "3.210 ns");
  EXPECT_EQ(format_seconds(0), "0 s");
}

TEST(FormatSeconds, carries_into_the_next_prefix_when_rounding_up) {
  EXPECT_EQ(format_seconds(999.96e-9), "1.000 µs");
  EXPECT_EQ(format_seconds(999.94e-9), "999.9 ns");
  EXPECT_EQ(format_seconds(0.99996), "1.000 s");
}

TEST(FormatSeconds, survives_what_is_not_finite_or_tiny) {
  EXPECT_EQ(format_seconds(std::nan("")), "n/a");
  EXPECT_EQ(format_seconds(kInfinity), "n/a");
  EXPECT_EQ(format_seconds(-2e-3), "-2.000 ms");
  EXPECT_EQ(format_seconds(5e-324).find("n/a"), std::string::npos);
}

TEST(FormatSi, uses_decimal_prefixes) {
  EXPECT_EQ(format_si(3.012e12, "B/s"), "3.01 TB/s");
  EXPECT_EQ(format_si(6.52e14, "FLOP/s"), "652 TFLOP/s");
  EXPECT_EQ(format_si(9.999e11, "FLOP/s"), "1.00 TFLOP/s");
  EXPECT_EQ(format_si(0.0955, "J"), "95.5 mJ");
  EXPECT_EQ(format_si(1.98e9, "Hz"), "1.98 GHz");
  EXPECT_EQ(format_si(604, "W"), "604 W");
}

TEST(FormatSi, sets_other_units_apart) {
  EXPECT_EQ(format_si(1.234e6, "launches/s"), "1.23 M launches/s");
  EXPECT_EQ(format_si(47, "°C", 2), "47 °C");
  EXPECT_EQ(format_si(0.42, ""), "0.420");
}

TEST(FormatBytes, keeps_binary_sizes_exact) {
  EXPECT_EQ(format_bytes(4096), "4 KiB");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(format_bytes(1000), "1000 B");
  EXPECT_EQ(format_bytes(1500000), "1.43 MiB");
  EXPECT_EQ(format_bytes(0), "0 B");
}

TEST(FormatPercent, never_shows_something_as_nothing) {
  EXPECT_EQ(format_percent(0.873), "87.3 %");
  EXPECT_EQ(format_percent(0.99951), "100 %");
  EXPECT_EQ(format_percent(0.0004), "< 0.1 %");
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(12.5), "1250 %");
  EXPECT_EQ(format_percent(kInfinity), "n/a");
}

TEST(FormatHalfWidth, takes_the_larger_half) {
  EXPECT_EQ(format_half_width(100, {99.9, 100.41, 0.95}), "±0.41 %");
  EXPECT_EQ(format_half_width(100, {97, 100.41, 0.95}), "±3.0 %");
  EXPECT_EQ(format_half_width(100, {60, 110, 0.95}), "±40 %");
  EXPECT_EQ(format_half_width(100, {100, 100, 0.95}), "±0 %");
  EXPECT_EQ(format_half_width(100, {99.999, 100, 0.95}), "±<0.01 %");
  EXPECT_EQ(format_half_width(0, {-1, 1, 0.95}), "n/a");
  EXPECT_EQ(format_half_width(100, {82, 335, 0.95}), "-18/+235 %") << "±235 % would reach below zero";
  EXPECT_EQ(format_half_width(100, {-50, 335, 0.95}), "±235 %");
}

TEST(FormatDuration, speaks_as_people_do) {
  EXPECT_EQ(format_duration(0.35), "350 ms");
  EXPECT_EQ(format_duration(4.2), "4.2 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(59.7), "1 min 00 s");
  EXPECT_EQ(format_duration(65), "1 min 05 s");
  EXPECT_EQ(format_duration(7380), "2 h 03 min");
  EXPECT_EQ(format_duration(-1), "n/a");
}

TEST(FormatCount, groups_by_three) {
  EXPECT_EQ(format_count(1234), "1234");
  EXPECT_EQ(to_ascii(format_count(1234567)), "1 234 567");
  EXPECT_EQ(to_ascii(format_count(-12345)), "-12 345");
}

TEST(FormatQuantity, follows_the_unit) {
  EXPECT_EQ(format_quantity(1e-3, "s"), "1.000 ms");
  EXPECT_EQ(format_quantity(65536, "B"), "64 KiB");
  EXPECT_EQ(format_quantity(0.5, "%"), "50.0 %");
  EXPECT_EQ(format_quantity(12, ""), "12");
  EXPECT_EQ(format_quantity(1.13, ""), "1.13");
  EXPECT_EQ(format_quantity(1.02949, "x"), "1.029x");
  EXPECT_EQ(format_quantity(0.98765, "x"), "0.9877x");
}

TEST(ToAscii, has_a_likeness_or_a_question_mark) {
  EXPECT_EQ(to_ascii("12 µs ±0.4 % → 3×4 … 日"), "12 us +-0.4 % -> 3x4 ... ?");
  EXPECT_EQ(to_ascii("plain"), "plain");
  for (const char c : to_ascii("\xff\xfe broken \xc2")) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(WithoutControls, leaves_a_terminal_nothing_to_obey) {
  EXPECT_EQ(without_controls("a\x1b[31mred\x1b]0;title\x07 \x7f\r"), "a?[31mred?]0;title? ??");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "2J"),
            "?2J")
      << "the C1 form of an escape sequence";
  EXPECT_EQ(without_controls("one\ttwo\nthree µs ±1 … 日 \xc2\xa0 \xc2"),
            "one two\nthree µs ±1 … 日 \xc2\xa0 \xef\xbf\xbd");
}

}  // namespace
}  // namespace warpmark::report
