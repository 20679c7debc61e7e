#include "report/draw/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/untrusted/input.h"

namespace warpmark::report {
namespace {

constexpr const char* kNotAvailable = "n/a";

}  // namespace

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return kNotAvailable;
  if (seconds < 0.9995) return format_si(seconds, "s", 2);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 9e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_quantity(double value, std::string_view unit) {
  if (unit == "s") return format_seconds(value);
  if (unit == "B") return format_bytes(value);
  if (unit == "%" || unit == "ratio") return format_percent(value);
  if (unit == "x") return format_significant(value, 4) + "x";  // ratios near 1: their changes are a few per cent
  if (unit.empty() || unit == "1") {
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return whole ? format_count(static_cast<std::int64_t>(value)) : format_significant(value, 3);
  }
  return format_si(value, unit, unit == "°C" ? 2 : 3);
}

std::string format_change(double ratio) {
  const double change = ratio - 1;
  constexpr double kSmallest = 0.0005;  // below it is "< 0.1 %", which has no sign
  const std::string size = format_percent(std::fabs(change));
  return std::fabs(change) < kSmallest ? size : (change < 0 ? "-" : "+") + size;
}

std::string format_p(const std::optional<double>& p) {
  if (!p) return "";
  return *p < 0.001 ? "<0.001" : fmt::format("{:.3f}", *p);
}

std::string format_half_width(double median, const Interval& interval) {
  if (median == 0) return kNotAvailable;
  const double half = std::max(interval.high - median, median - interval.low) / std::abs(median);
  if (!std::isfinite(half)) return kNotAvailable;
  if (half == 0) return "±0 %";
  // "±235 %" of a time would reach below zero, where the interval does not.
  if (half >= 1 && interval.low / median > 0) {
    return fmt::format("-{:.0f}/+{:.0f} %", (1 - interval.low / median) * 100, (interval.high / median - 1) * 100);
  }
  if (half < 0.00005) return "±<0.01 %";
  if (half < 0.01) return fmt::format("±{:.2f} %", half * 100);
  return "±" + (half < 0.1 ? fmt::format("{:.1f}", half * 100) : fmt::format("{:.0f}", half * 100)) + " %";
}

std::string format_scientific(double value) {
  if (!std::isfinite(value)) return kNotAvailable;
  return value == 0 ? "0" : fmt::format("{:.1e}", value);
}

std::string format_plural(std::size_t count, std::string_view one, std::string_view many) {
  return format_count(static_cast<std::int64_t>(count)) + " " + std::string(count == 1 ? one : many);
}

std::string without_controls(std::string_view utf8) {
  std::string text = shown_text(utf8, "?");
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

std::string to_ascii(std::string_view utf8) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kLikeness{
      {{"µ", "u"},  {"μ", "u"},  {"±", "+-"}, {"…", "..."}, {"–", "-"},      {"—", "-"},      {"×", "x"},  {"·", "."},
       {"→", "->"}, {"≤", "<="}, {"≥", ">="}, {"°", " "},   {"\u202f", " "}, {"\u00a0", " "}, {"²", "^2"}, {"³", "^3"},
       {"▁", "_"},  {"▂", ","},  {"▃", "-"},  {"▄", "="},   {"▅", "+"},      {"▆", "*"},      {"▇", "%"},  {"█", "#"}}};
  std::string text;
  for (std::size_t i = 0; i < utf8.size();) {
    if (static_cast<unsigned char>(utf8[i]) < 0x80) {
      text += utf8[i++];
      continue;
    }
    const auto rest = utf8.substr(i);
    const auto* found = std::find_if(kLikeness.begin(), kLikeness.end(),
                                     [&](const auto& pair) { return rest.starts_with(pair.first); });
    text += found == kLikeness.end() ? std::string_view("?") : found->second;
    ++i;
    while (i < utf8.size() && (static_cast<unsigned char>(utf8[i]) & 0xC0U) == 0x80) ++i;
  }
  return text;
}

}  // namespace warpmark::report
