#include "stats/tests/sample_size.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>

#include "base/check.h"
#include "stats/distributions.h"

namespace warpmark::stats {

double paired_power(std::int64_t n, double stdev, double effect, double alpha) {
  WM_CHECK(n >= 2 && effect > 0);
  if (stdev <= 0) return 1;
  const double degrees = static_cast<double>(n - 1);
  const double shift = std::sqrt(static_cast<double>(n)) * effect / stdev;
  if (shift > 37) return 1;  // beyond what the noncentral distribution is defined for, and certain
  const double critical = t_quantile_of_tail(alpha / 2, degrees);
  const boost::math::non_central_t_distribution<double, DoublePolicy> distribution(degrees, shift);
  return boost::math::cdf(boost::math::complement(distribution, critical)) + boost::math::cdf(distribution, -critical);
}

std::int64_t pairs_needed(double stdev, double effect, std::int64_t most, const PowerOptions& options) {
  std::int64_t low = 2, high = std::max<std::int64_t>(2, most);
  if (paired_power(high, stdev, effect, options.alpha) < options.power) return most;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (paired_power(middle, stdev, effect, options.alpha) >= options.power) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace warpmark::stats
