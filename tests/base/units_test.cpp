#include "base/units.h"

#include <gtest/gtest.h>

#include <string>

namespace warpmark {
namespace {

TEST(ParseBytes, knows_binary_and_decimal_units) {
  EXPECT_EQ(*parse_bytes("4096"), 4096);
  EXPECT_EQ(*parse_bytes("4KiB"), 4096);
  EXPECT_EQ(*parse_bytes("4K"), 4096);
  EXPECT_EQ(*parse_bytes("2GB"), 2'000'000'000);
  EXPECT_EQ(*parse_bytes("1.5 GiB"), 1'610'612'736);
}

TEST(ParseBytes, refuses_what_is_no_size) {
  for (const char* text : {"", "abc", "-1", "1.3", "1XB", "nan", "inf", "1e30"}) {
    const auto bytes = parse_bytes(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_EQ(bytes.error().kind, ErrorKind::usage);
    EXPECT_NE(bytes.error().what.find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(ParseDuration, knows_units) {
  EXPECT_DOUBLE_EQ(*parse_duration_s("60s"), 60);
  EXPECT_DOUBLE_EQ(*parse_duration_s("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_duration_s("2m"), 120);
  EXPECT_DOUBLE_EQ(*parse_duration_s("30d"), 30 * 86400.0);
  EXPECT_DOUBLE_EQ(*parse_duration_s("1.5"), 1.5);
  EXPECT_FALSE(parse_duration_s("-1s").ok());
  EXPECT_FALSE(parse_duration_s("1 parsec").ok());
}

TEST(ParseRatio, reads_percent) {
  EXPECT_DOUBLE_EQ(*parse_ratio("0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(*parse_ratio("0.01"), 0.01);
}

TEST(ParseInteger, says_whether_a_number_is_too_large_or_none) {
  EXPECT_EQ(parse_integer("-42").value(), -42);
  EXPECT_EQ(parse_integer("99999999999999999999").error().what, "'99999999999999999999' is too large");
  EXPECT_EQ(parse_integer("-99999999999999999999").error().what, "'-99999999999999999999' is too small");
  for (const char* text : {"", "4x", "1.5", "99999999999999999999x"}) {
    EXPECT_EQ(parse_integer(text).error().what, "'" + std::string(text) + "' is not a whole number");
  }
}

TEST(ParseQuantity, knows_prefixes_of_the_unit_that_is_asked_for) {
  EXPECT_DOUBLE_EQ(*parse_quantity("3.2 TB/s", "B/s"), 3.2e12);
  EXPECT_DOUBLE_EQ(*parse_quantity("1GiB/s", "B/s"), 1073741824);
  EXPECT_DOUBLE_EQ(*parse_quantity("500 us", "s"), 500e-6);
  EXPECT_DOUBLE_EQ(*parse_quantity("12 TFLOPS", "FLOP/s"), 12e12);
  EXPECT_DOUBLE_EQ(*parse_quantity("12 TFLOP/s", "FLOP/s"), 12e12);
  EXPECT_DOUBLE_EQ(*parse_quantity("80 GB", "B"), 80e9);
  EXPECT_DOUBLE_EQ(*parse_quantity("8", "1"), 8);
}

TEST(ParseQuantity, refuses_another_unit_and_a_bare_number) {
  for (const char* text : {"3.2", "3.2 TB", "3 Ts", "GB/s", "3 XB/s", "", "3 KiFLOP/s"}) {
    EXPECT_FALSE(parse_quantity(text, text == std::string("3 KiFLOP/s") ? "FLOP/s" : "B/s").ok()) << text;
  }
  EXPECT_FALSE(parse_quantity("8 B", "1").ok());
}

}  // namespace
}  // namespace warpmark
