// Bootstrap intervals, bias-corrected and accelerated (BCa; Efron, Tibshirani, An Introduction to the Bootstrap, 1993,
// chapter 14). For statistics that have no exact interval. What is resampled must be independent: rounds or processes,
// never samples of one round.
#pragma once

#include <cstdint>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

struct BootstrapOptions {
  std::int64_t resamples = 9999;
  double confidence = 0.95;
  std::uint64_t seed = 1;  ///< the same seed gives the same interval
};

struct Estimate {
  double value = 0;
  Interval interval;
};

/// median(second) / median(first), both resampled on their own. At least two samples above 0 a side. Where all
/// resamples give the same value the interval is that value.
[[nodiscard]] Estimate bca_median_ratio(std::span<const double> first, std::span<const double> second,
                                        const BootstrapOptions& options = {});

/// The levels of the bootstrap distribution that bound the interval, from the bias z0 and the acceleration a.
struct BcaLevels {
  double low = 0;
  double high = 0;
};
[[nodiscard]] BcaLevels bca_levels(double bias, double acceleration, double confidence);

}  // namespace warpmark::stats
