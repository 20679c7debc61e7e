// The two forms of each scanning function agree on random text, and numbers and texts are read exactly.
#include <gtest/gtest.h>

#include <random>

#include "generated/short_scan.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_scan.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/line_reader.h"
#include "profile/readers/text/padded_text.h"

namespace warpmark::profile {
namespace {

std::string random_text(std::mt19937& random, std::string_view letters) {
  std::string text(random() % 300, ' ');
  for (char& c : text) c = letters[random() % letters.size()];
  return text;
}

TEST(Scan, fast_and_plain_forms_agree) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    PaddedText text;
    text.append(random_text(random, i % 2 == 0 ? "[]{}\"\\ab \n" : "[]{}aaaaaaaaaaaaaaaaaa\"bcdefghijklm,:123 "));
    const char* stop_fast = nullptr;
    const char* stop_plain = nullptr;
    const char* fast = scan_functions().skip_nested(text.begin(), text.end(), &stop_fast);
    const char* plain = scalar_scan_functions().skip_nested(text.begin(), text.end(), &stop_plain);
    ASSERT_EQ(fast, plain) << text.view();
    ASSERT_EQ(stop_fast, stop_plain) << text.view();
    const char* special = find_special(text.begin(), text.end(), scan_functions());
    ASSERT_EQ(std::min<const char*>(special, text.end()),
              scalar_scan_functions().find_special(text.begin(), text.end()));
    ASSERT_EQ(scan_functions().find_special(text.begin(), text.end()),
              scalar_scan_functions().find_special(text.begin(), text.end()));
  }
}

TEST(Decimal, is_exact_to_the_last_digit) {
  EXPECT_EQ(parse_shifted_decimal("4361643201600.795", 3), 4361643201600795);
  EXPECT_EQ(parse_shifted_decimal("1790857026000000.123", 3), 1790857026000000123);
  EXPECT_EQ(parse_shifted_decimal("9223372036854775.807", 3), INT64_MAX);
  EXPECT_EQ(parse_shifted_decimal("9223372036854775.808", 3), std::nullopt);
  EXPECT_EQ(parse_shifted_decimal("-0.0015", 3), -2);
  EXPECT_EQ(parse_shifted_decimal("0.0004999", 3), 0);
  EXPECT_EQ(parse_shifted_decimal("1.5e3", 3), 1500000);
  EXPECT_EQ(parse_shifted_decimal("15E-1", 3), 1500);
  EXPECT_EQ(parse_shifted_decimal("0e999", 3), 0);
  EXPECT_EQ(parse_shifted_decimal("1e999", 3), std::nullopt);
  for (const char* none : {"", "-", ".", "nan", "inf", "1x", "1e", "--1", "0x10", "1e99999999999"}) {
    EXPECT_EQ(parse_shifted_decimal(none, 3), std::nullopt) << none;
  }
}

TEST(Integer, takes_hexadecimal_and_unsigned_forms) {
  EXPECT_EQ(parse_integer("0x1f"), 31);
  EXPECT_EQ(parse_integer("18446744073709551615"), -1);
  EXPECT_EQ(parse_integer("12.9"), 12);
  EXPECT_EQ(parse_integer("abc"), std::nullopt);
  EXPECT_EQ(parse_integer("1e300"), std::nullopt);
}

TEST(JsonText, what_is_encoded_is_decoded) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_text(random, "ab\"\\\n\t\x01 /u");
    EXPECT_EQ(decode_json_text(encode_json_text(text)).text, text);
  }
  EXPECT_EQ(fix_utf8("\xC0\x80\xF8"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TextTable, gives_equal_texts_equal_numbers) {
  TextTable table;
  std::vector<std::string> texts;
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) texts.push_back(random_text(random, "ab").substr(0, random() % 12));
  std::vector<std::uint32_t> ids;
  for (const auto& text : texts) ids.push_back(table.intern(text));
  std::vector<std::string_view> all;
  table.drain(all);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(all[ids[i]], texts[i]);
    ASSERT_EQ(table.intern(texts[i]), ids[i]);
  }
}

}  // namespace
}  // namespace warpmark::profile
