#include "stats/tests/t_tests.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "stats/distributions.h"
#include "stats/moments.h"

namespace warpmark::stats {
namespace {

TTest finish(double estimate, double standard_error, double degrees, double confidence) {
  TTest test{.estimate = estimate, .standard_error = standard_error, .degrees = degrees};
  if (standard_error > 0) {
    test.t = estimate / standard_error;
    test.p = 2 * t_tail(std::fabs(test.t), degrees);
    const double half = standard_error * t_quantile_of_tail((1 - confidence) / 2, degrees);
    test.interval = {estimate - half, estimate + half, confidence};
  } else {
    test.t = estimate == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), estimate);
    test.p = estimate == 0 ? 1 : 0;
    test.interval = {estimate, estimate, confidence};
  }
  return test;
}

}  // namespace

TTest one_sample_t(std::span<const double> values, double confidence) {
  WM_CHECK(values.size() >= 2);
  const Moments moments = moments_of(values);
  return finish(moments.mean, std::sqrt(moments.variance() / moments.n), moments.n - 1, confidence);
}

TTest paired_t(std::span<const double> first, std::span<const double> second, double confidence) {
  WM_CHECK(first.size() == second.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(second[i] - first[i]);
  return one_sample_t(differences, confidence);
}

TTest welch_t(std::span<const double> first, std::span<const double> second, double confidence) {
  WM_CHECK(first.size() >= 2 && second.size() >= 2);
  const Moments a = moments_of(first), b = moments_of(second);
  const double share_a = a.variance() / a.n, share_b = b.variance() / b.n;
  const double sum = share_a + share_b;
  const double degrees =
      sum > 0 ? sum * sum / (share_a * share_a / (a.n - 1) + share_b * share_b / (b.n - 1)) : a.n + b.n - 2;
  return finish(b.mean - a.mean, std::sqrt(sum), degrees, confidence);
}

double equivalence_p(const TTest& test, double low, double high) {
  WM_CHECK(low < high);
  if (!(test.standard_error > 0)) return low < test.estimate && test.estimate < high ? 0 : 1;
  return std::fmax(t_tail((test.estimate - low) / test.standard_error, test.degrees),
                   t_tail((high - test.estimate) / test.standard_error, test.degrees));
}

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
