#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace warpmark {
namespace {

struct UnitFactor {
  std::string_view name;
  double factor;
};

/// Splits "1.5GiB" into 1.5 and "GiB".
Result<std::pair<double, std::string_view>> split_number(std::string_view text, std::string_view expected) {
  const auto trimmed = trim(text);
  double number = 0;
  const auto [end, status] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (status != std::errc{} || !std::isfinite(number)) {
    return usage_error("'" + std::string(text) + "' is not " + std::string(expected));
  }
  return std::pair{number, trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())))};
}

template <std::size_t N>
Result<double> with_unit(std::string_view text, const std::array<UnitFactor, N>& units, std::string_view expected) {
  WM_ASSIGN(const auto parts, split_number(text, expected));
  for (const auto& unit : units) {
    if (unit.name == parts.second) return parts.first * unit.factor;
  }
  return usage_error("'" + std::string(text) + "' has an unknown unit '" + std::string(parts.second) + "'",
                     "give " + std::string(expected));
}

constexpr const char* kNoNumber = "n/a";

/// Rounds to that many significant digits, so that 999.96 becomes 1000 before a prefix is chosen.
double rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))));
  const double result = std::round(value * scale) / scale;
  return std::isfinite(result) ? result : value;
}

struct Prefix {
  double factor;
  const char* name;
};

constexpr std::array<Prefix, 11> kDecimal{{{1e18, "E"},
                                           {1e15, "P"},
                                           {1e12, "T"},
                                           {1e9, "G"},
                                           {1e6, "M"},
                                           {1e3, "k"},
                                           {1, ""},
                                           {1e-3, "m"},
                                           {1e-6, "µ"},
                                           {1e-9, "n"},
                                           {1e-12, "p"}}};

/// The largest prefix that leaves at least 1 before the decimal point.
const Prefix& decimal_prefix(double magnitude) {
  for (const auto& prefix : kDecimal) {
    if (magnitude >= prefix.factor * (1 - 1e-12)) return prefix;
  }
  return kDecimal.back();
}

/// Units that take a prefix directly ("GB/s"); others are set apart from it ("1.2 M launches/s").
bool takes_prefix(std::string_view unit) {
  constexpr std::array<std::string_view, 14> kUnits{"s", "B", "B/s", "FLOP/s",   "FLOP",   "Hz",    "J",
                                                    "W", "V", "A",   "FLOP/s/W", "FLOP/J", "bit/s", "B/s/W"};
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr double kKibi = 1024;
  constexpr std::array<UnitFactor, 18> kUnits{{{"", 1},
                                               {"B", 1},
                                               {"k", 1e3},
                                               {"kB", 1e3},
                                               {"K", kKibi},
                                               {"Ki", kKibi},
                                               {"KiB", kKibi},
                                               {"M", 1e6},
                                               {"MB", 1e6},
                                               {"Mi", kKibi * kKibi},
                                               {"MiB", kKibi * kKibi},
                                               {"G", 1e9},
                                               {"GB", 1e9},
                                               {"Gi", kKibi * kKibi * kKibi},
                                               {"GiB", kKibi * kKibi * kKibi},
                                               {"T", 1e12},
                                               {"TB", 1e12},
                                               {"TiB", kKibi * kKibi * kKibi * kKibi}}};
  constexpr std::string_view kExpected = "a size such as 4096, 64KiB, 1.5GiB or 2GB";
  WM_ASSIGN(const double bytes, with_unit(text, kUnits, kExpected));
  if (bytes < 0 || bytes >= 9.2e18 || bytes != std::floor(bytes)) {
    return usage_error("'" + std::string(text) + "' is not a whole number of bytes from 0 to 9.2e18",
                       "give " + std::string(kExpected));
  }
  return static_cast<std::int64_t>(bytes);
}

Result<double> parse_duration_s(std::string_view text) {
  constexpr std::array<UnitFactor, 8> kUnits{
      {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  constexpr std::string_view kExpected = "a duration such as 60s, 500ms, 2m or 1h";
  WM_ASSIGN(const double seconds, with_unit(text, kUnits, kExpected));
  if (seconds < 0) return usage_error("'" + std::string(text) + "' is negative", "give " + std::string(kExpected));
  return seconds;
}

Result<double> parse_ratio(std::string_view text) {
  constexpr std::array<UnitFactor, 2> kUnits{{{"", 1}, {"%", 0.01}}};
  return with_unit(text, kUnits, "a ratio such as 0.5% or 0.005");
}

Result<double> parse_quantity(std::string_view text, std::string_view unit) {
  constexpr std::array<UnitFactor, 14> kPrefixes{{{"", 1},
                                                  {"n", 1e-9},
                                                  {"u", 1e-6},
                                                  {"\u00b5", 1e-6},
                                                  {"m", 1e-3},
                                                  {"k", 1e3},
                                                  {"M", 1e6},
                                                  {"G", 1e9},
                                                  {"T", 1e12},
                                                  {"P", 1e15},
                                                  {"Ki", 1024},
                                                  {"Mi", 1024.0 * 1024},
                                                  {"Gi", 1024.0 * 1024 * 1024},
                                                  {"Ti", 1024.0 * 1024 * 1024 * 1024}}};
  const bool plain = unit.empty() || unit == "1";
  const std::string example = plain ? "a number" : "a number with a unit such as 1.5 k" + std::string(unit);
  WM_ASSIGN(const auto parts, split_number(text, example));
  if (plain && parts.second.empty()) return parts.first;
  std::string_view given = parts.second;
  std::string spelled(given);
  if (unit == "FLOP/s" && spelled.ends_with("FLOPS")) {  // as vendors write it
    spelled.replace(spelled.size() - 5, 5, "FLOP/s");
    given = spelled;
  }
  if (!plain && given.ends_with(unit)) {
    const auto prefix = given.substr(0, given.size() - unit.size());
    for (const auto& known : kPrefixes) {
      const bool binary = known.name.ends_with('i');
      if (known.name == prefix && (!binary || unit.starts_with('B'))) return parts.first * known.factor;
    }
  }
  return usage_error(given.empty() ? "'" + std::string(text) + "' has no unit"
                                   : "'" + std::string(text) + "' has the unit '" + std::string(parts.second) + "'",
                     "give " + example);
}

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status != std::errc::invalid_argument && end == text.data() + text.size();
  if (!whole) return usage_error("'" + std::string(text) + "' is not a whole number");
  if (status == std::errc::result_out_of_range) {
    return usage_error("'" + std::string(text) + "' is too " + (text.starts_with('-') ? "small" : "large"),
                       "whole numbers go from -9.2e18 to 9.2e18");
  }
  return value;
}

Result<double> parse_number(std::string_view text) {
  WM_ASSIGN(const auto parts, split_number(text, "a number"));
  if (!parts.second.empty()) return usage_error("'" + std::string(text) + "' is not a number");
  return parts.first;
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return kNoNumber;
  if (value == 0) return "0";
  const double shown = rounded(value, digits);
  const double magnitude = std::abs(shown);
  if (magnitude >= 1e7 || magnitude < 1e-4) return fmt::format("{:.{}e}", shown, digits - 1);
  const int before_point = static_cast<int>(std::floor(std::log10(magnitude) + 1e-12)) + 1;
  return fmt::format("{:.{}f}", shown, std::max(0, digits - before_point));
}

std::string format_si(double value, std::string_view unit, int digits) {
  if (!std::isfinite(value)) return kNoNumber;
  const bool direct = takes_prefix(unit);
  const auto spaced = [](const std::string& tail) { return tail.empty() ? tail : " " + tail; };
  if (value == 0) return "0" + spaced(std::string(unit));
  const double shown = rounded(value, digits);
  const double magnitude = std::abs(shown);
  if (!direct && magnitude < 1e4 && magnitude >= 1e-3) {
    return format_significant(shown, digits) + spaced(std::string(unit));
  }
  const Prefix& prefix = decimal_prefix(magnitude);
  const std::string tail = direct ? prefix.name + std::string(unit) : prefix.name + spaced(std::string(unit));
  return format_significant(shown / prefix.factor, digits) + spaced(tail);
}

std::string format_bytes(double bytes, int digits) {
  if (!std::isfinite(bytes)) return kNoNumber;
  constexpr std::array<const char*, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = bytes;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  // Sizes people choose are short in binary: "4 KiB", "1.5 GiB". Others are rounded.
  const bool whole = value == std::floor(value);
  const bool short_form = whole || (value * 8 == std::floor(value * 8) && rounded(value, digits) == value);
  const std::string text = short_form                ? fmt::format("{}", value)
                           : std::abs(value) >= 1000 ? fmt::format("{:.{}f}", value, std::max(0, digits - 4))
                                                     : format_significant(value, digits);
  return text + " " + kUnits[unit];
}

std::string format_seconds(double seconds) {
  const double magnitude = std::abs(rounded(seconds, 4));
  if (magnitude >= 1) return format_significant(seconds, 4) + (std::isfinite(seconds) ? " s" : "");
  return format_si(seconds, "s", 4);
}

std::string format_percent(double ratio) {
  if (!std::isfinite(ratio)) return kNoNumber;
  const double percent = ratio * 100;
  if (percent == 0) return "0 %";
  if (std::abs(percent) < 0.05) return percent > 0 ? "< 0.1 %" : "> -0.1 %";
  if (std::abs(percent) >= 99.95) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.1f} %", percent);
}

std::string format_times(double factor) {
  if (!std::isfinite(factor)) return kNoNumber;
  return fmt::format("{:.{}f}x", factor, factor < 9.995 ? 2 : factor < 99.95 ? 1 : 0);
}

std::string format_count(std::int64_t count) {
  const std::string digits = std::to_string(count);
  const std::size_t start = count < 0 ? 1 : 0;
  if (digits.size() - start <= 4) return digits;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > start && (digits.size() - i) % 3 == 0) text += "\u202f";
    text += digits[i];
  }
  return text;
}

}  // namespace warpmark
