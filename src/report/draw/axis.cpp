#include "report/draw/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "report/draw/format.h"

namespace warpmark::report {
namespace {

bool usable(double value, const Axis& axis) { return std::isfinite(value) && (!axis.logarithmic || value > 0); }

/// The smallest of 1, 2, 5 times a power of ten that is not below `value`.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double quantile(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<std::size_t>(std::lround(p * static_cast<double>(sorted.size() - 1)))];
}

/// "1.200" is "1.2" and "10.00" is "10".
std::string without_trailing_zeros(std::string number) {
  if (number.find('.') == std::string::npos || number.find('e') != std::string::npos) return number;
  while (number.back() == '0') number.pop_back();
  if (number.back() == '.') number.pop_back();
  return number;
}

}  // namespace

Scale::Scale(std::span<const double> values, const Axis& axis) : axis_(axis) {
  range_ = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!usable(value, axis)) continue;
    range_.low = std::min(range_.low, value);
    range_.high = std::max(range_.high, value);
  }
  if (range_.low > range_.high) range_ = axis.logarithmic ? Range{1, 10} : Range{0, 1};
  if (axis.logarithmic) {
    // A little room on both sides; never less than a factor of four, so that one value sits in the middle.
    const double room = std::max(1.3, 2 / std::sqrt(std::max(1.0, range_.high / range_.low)));
    range_ = {range_.low / room, range_.high * room};
    return;
  }
  // Values that differ by rounding alone are equal: steps between them would be lost in the digits of a double.
  const double size = std::max(std::abs(range_.low), std::abs(range_.high));
  const bool equal = range_.high - range_.low <= size * 1e-9;
  if (equal) {
    const double room = (size > 0 ? size : 1) / 2;
    // What is nowhere negative has no negative half: 0 stands at the bottom.
    range_ = {range_.low >= 0 ? std::max(0.0, range_.low - room) : range_.low - room, range_.high + room};
  }
  const double step = round_step((range_.high - range_.low) / 5);
  range_ = {std::floor(range_.low / step) * step, std::ceil(range_.high / step) * step};
}

bool Scale::shows(double value) const {
  return usable(value, axis_) && value >= range_.low * (1 - 1e-12) - 1e-300 && value <= range_.high * (1 + 1e-12);
}

double Scale::place(double value) const {
  if (!usable(value, axis_)) return std::numeric_limits<double>::quiet_NaN();
  const double place = axis_.logarithmic ? std::log(value / range_.low) / std::log(range_.high / range_.low)
                                         : (value - range_.low) / (range_.high - range_.low);
  return std::clamp(place, 0.0, 1.0);
}

std::vector<double> Scale::ticks(std::size_t most) const {
  if (axis_.logarithmic) {
    const auto ticks = logarithmic_ticks(most);
    if (ticks.size() >= 2) return ticks;  // a range without two of them is so short that even steps serve it
  }
  const double step = round_step((range_.high - range_.low) / static_cast<double>(std::max<std::size_t>(most, 1)));
  std::vector<double> ticks;
  const double first = std::ceil(range_.low / step - 1e-9);
  const auto count = static_cast<std::size_t>(std::floor(range_.high / step + 1e-9) - first) + 1;
  for (std::size_t i = 0; i < count; ++i) ticks.push_back((first + static_cast<double>(i)) * step);
  return ticks;
}

std::vector<double> Scale::logarithmic_ticks(std::size_t most) const {
  const double base = axis_.unit == "B" ? 2 : 10;
  const auto first = static_cast<int>(std::ceil(std::log(range_.low) / std::log(base) - 1e-9));
  const auto last = static_cast<int>(std::floor(std::log(range_.high) / std::log(base) + 1e-9));
  std::vector<double> ticks;
  if (base == 10 && last - first < 2) {  // hardly two decades: 1, 2 and 5 of each
    for (int power = first - 1; power <= last; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double tick = factor * std::pow(base, power);
        if (shows(tick)) ticks.push_back(tick);
      }
    }
    if (ticks.size() <= most) return ticks;
    ticks.clear();
  }
  const int count = std::max(0, last - first + 1);
  const int stride = std::max(1, (count + static_cast<int>(most) - 1) / static_cast<int>(most));
  for (int power = first; power <= last; ++power) {
    if (power % stride == 0) ticks.push_back(std::pow(base, power));
  }
  return ticks;
}

std::string tick_label(double value, std::string_view unit) {
  if (unit == "%") return without_trailing_zeros(format_significant(value * 100, 3)) + " %";
  const std::string text = format_quantity(value, unit);
  const auto space = std::min(text.find(' '), text.size());
  return without_trailing_zeros(text.substr(0, space)) + text.substr(space);
}

std::vector<std::string> tick_labels(std::span<const double> ticks, std::string_view unit) {
  std::vector<std::string> labels;
  double most = 0;
  for (const double tick : ticks) {
    labels.push_back(tick_label(tick, unit));
    most = std::max(most, std::abs(tick));
  }
  const bool repeats = std::adjacent_find(labels.begin(), labels.end()) != labels.end();
  if (!repeats || most == 0) return labels;
  // The unit of the largest serves all: 1.0401 ms and not 1.040 ms twice.
  const std::string largest = tick_label(most, unit);
  const double shown = std::strtod(largest.c_str(), nullptr);
  const auto space = std::min(largest.find(' '), largest.size());
  if (!(shown > 0) || largest.find(' ', space + 1) != std::string::npos) return labels;  // "1 min 02 s"
  const double factor = unit == "B" ? std::exp2(10 * std::round(std::log2(shown / most) / 10))
                                    : std::pow(10.0, std::round(std::log10(shown / most)));
  for (int digits = 5; digits <= 15; ++digits) {
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      labels[i] = fmt::format("{:.{}g}", ticks[i] * factor, digits) + largest.substr(space);
    }
    if (std::adjacent_find(labels.begin(), labels.end()) == labels.end()) break;
  }
  return labels;
}

Range shown_range(const Distribution& distribution) {
  std::vector<double> all;
  for (const auto& group : distribution.groups) {
    std::copy_if(group.samples.begin(), group.samples.end(), std::back_inserter(all),
                 [](double sample) { return std::isfinite(sample); });
  }
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  const double low = quantile(all, 0.02);
  const double high = quantile(all, 0.98);
  const double room = (high - low) * 0.25;
  Range range{std::max(all.front(), low - room), std::min(all.back(), high + room)};
  if (!(range.high > range.low))
    range = {range.low - 0.5 * std::abs(range.low), range.high + 0.5 * std::abs(range.high)};
  if (!(range.high > range.low)) range = {-1e-3, 1e-3};
  return range;
}

}  // namespace warpmark::report
