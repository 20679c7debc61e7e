#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

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

}  // namespace warpmark
