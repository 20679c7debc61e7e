// The peaks of a roofline plot.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/report.h"

namespace warpmark::report {

/// Name and limit: FLOP/s of a peak, B/s of a bandwidth.
using NamedLimit = std::pair<std::string, double>;

/// Sloped peaks from the bandwidths, flat ones from the peaks, each up to where it meets the highest of the others,
/// within intensities of `least` to `most` FLOP/B.
[[nodiscard]] std::vector<Series> roofline_limits(std::span<const NamedLimit> peaks,
                                                  std::span<const NamedLimit> bandwidths, double least, double most);

}  // namespace warpmark::report
