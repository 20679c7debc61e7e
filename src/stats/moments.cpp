#include "stats/moments.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace warpmark::stats {

Moments moments_of(std::span<const double> values) {
  Moments moments{.n = static_cast<double>(values.size()), .mean = mean_of(values)};
  if (values.empty()) return moments;
  double residue = 0;
  for (const double value : values) {
    const double deviation = value - moments.mean;
    residue += deviation;
    moments.squares += deviation * deviation;
  }
  // The residue is what rounding left in the mean.
  moments.squares = std::max(0.0, moments.squares - residue * residue / moments.n);
  moments.mean += residue / moments.n;
  return moments;
}

double mean_of(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
    sum += std::log(value);
  }
  if (values.empty()) return std::nullopt;
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace warpmark::stats
