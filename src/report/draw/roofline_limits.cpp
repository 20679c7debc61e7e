#include "report/draw/roofline_limits.h"

#include <algorithm>

#include "report/draw/format.h"

namespace warpmark::report {

std::vector<Series> roofline_limits(std::span<const NamedLimit> peaks, std::span<const NamedLimit> bandwidths,
                                    double least, double most) {
  const auto highest_peak = std::ranges::max_element(peaks, {}, &NamedLimit::second);
  const auto widest = std::ranges::max_element(bandwidths, {}, &NamedLimit::second);
  std::vector<Series> limits;
  for (const auto& [type, peak] : peaks) {
    const double ridge = widest == bandwidths.end() ? least : peak / widest->second;
    const std::string name = type + " " + format_si(peak, "FLOP/s");
    limits.push_back({name, {{std::clamp(ridge, least, most), peak}, {most, peak}}, true, true});
  }
  for (const auto& [scope, bandwidth] : bandwidths) {
    const double top = highest_peak == peaks.end() ? most : std::min(highest_peak->second / bandwidth, most);
    const std::string name = scope + " " + format_si(bandwidth, "B/s");
    if (top > least) limits.push_back({name, {{least, least * bandwidth}, {top, top * bandwidth}}, true, true});
  }
  return limits;
}

}  // namespace warpmark::report
