#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmark {
namespace {

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
