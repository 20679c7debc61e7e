#include "profile/readers/text/decimal.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace warpmark::profile {
namespace {

constexpr std::uint64_t kMostTimesTen = UINT64_MAX / 10 - 1;  // ten times this and a digit fit into 64 bits

struct Decimal {
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;       ///< the value is mantissa * 10^exponent
  bool round_up = false;  ///< the first digit that did not fit
};

/// Collects digits while they fit; those beyond only move the exponent.
void add_digit(Decimal& number, char digit, bool after_point, bool& full) {
  if (!full && number.mantissa > kMostTimesTen) {
    full = true;
    number.round_up = digit >= '5';
  }
  if (full) {
    if (!after_point) ++number.exponent;
    return;
  }
  number.mantissa = number.mantissa * 10 + static_cast<std::uint64_t>(digit - '0');
  if (after_point) --number.exponent;
}

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) number.negative = text[i++] == '-';
  bool after_point = false, full = false, any = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !after_point) {
      after_point = true;
    } else if (is_digit(text[i])) {
      add_digit(number, text[i], after_point, full);
      any = true;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    if (++i < text.size() && text[i] == '+') ++i;
    int exponent = 0;
    const auto [rest, code] = std::from_chars(text.data() + i, text.data() + text.size(), exponent);
    if (code != std::errc() || exponent > 1000 || exponent < -1000) return std::nullopt;
    i = static_cast<std::size_t>(rest - text.data());
    number.exponent += exponent;
  }
  return i == text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_shifted_decimal(std::string_view text, int decimals) {
  auto number = read_decimal(text);
  if (!number) return std::nullopt;
  std::uint64_t value = number->mantissa;
  bool round_up = number->round_up;
  int exponent = number->exponent + decimals;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMostTimesTen) return std::nullopt;
    value *= 10;
  }
  for (; exponent < 0 && (value != 0 || round_up); ++exponent) {
    round_up = value % 10 >= 5;
    value /= 10;
  }
  if (round_up && exponent == 0) ++value;
  if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return number->negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::uint64_t bits = 0;
    const auto [rest, code] = std::from_chars(text.data() + 2, end, bits, 16);
    if (code != std::errc() || rest != end) return std::nullopt;
    return static_cast<std::int64_t>(bits);
  }
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc() && rest == end) return value;
  if (code == std::errc::result_out_of_range && rest == end) {
    std::uint64_t bits = 0;
    if (std::from_chars(text.data(), end, bits).ec == std::errc()) return static_cast<std::int64_t>(bits);
    return std::nullopt;
  }
  const auto number = parse_number(text);
  if (!number || std::abs(*number) >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || rest != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace warpmark::profile
