#include "stats/tests/sequential.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace warpmark::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Spread below this share of the mean is rounding of the arithmetic.
constexpr double kSpreadRounding = 1e-13;

/// Twice the p of n differences that all have one sign: no smaller p is believed, whatever the variance. Doubled to
/// leave as much for what comes later.
double p_of_signs(std::int64_t n) {
  return std::ldexp(1.0, static_cast<int>(2 - std::clamp<std::int64_t>(n, 2, 1000)));
}

/// The largest |t| / sqrt(n) that the Bayes factor still allows at this n: half width over standard deviation.
double width_factor(std::int64_t n, const SequentialOptions& options) {
  if (n < 2 || p_of_signs(n) > options.alpha) return kInfinity;
  const auto count = static_cast<double>(n);
  const double r = 1 + count * options.effect_variance;
  // BF = r^(-1/2) ((1 + x) / (1 + x / r))^(n / 2) with x = t^2 / (n - 1); BF < 1 / alpha solved for x.
  const double k = std::exp((std::log(r) - 2 * std::log(options.alpha)) / count);
  if (k >= r) return kInfinity;
  const double x = (k - 1) / (1 - k / r);
  return std::sqrt(x * (count - 1) / count);
}

SequentialTest of_equal_differences(SequentialTest test, double alpha) {
  const double p = p_of_signs(test.n);
  if (p <= alpha) test.interval = Interval{test.mean, test.mean, 1 - alpha};
  if (test.mean != 0) {
    test.p = p;
    test.e_value = 1 / p;
  }
  return test;
}

}  // namespace

SequentialTest sequential_t(std::span<const double> differences, const SequentialOptions& options) {
  WM_CHECK(options.alpha > 0 && options.alpha < 1 && options.effect_variance > 0);
  SequentialTest test{.n = static_cast<std::int64_t>(differences.size())};
  if (test.n == 0) return test;
  const auto count = static_cast<double>(test.n);
  double largest = 0;
  for (const double difference : differences) {
    test.mean += difference / count;
    largest = std::max(largest, std::fabs(difference));
  }
  if (test.n < 2) return test;
  double squares = 0;
  for (const double difference : differences) squares += (difference - test.mean) * (difference - test.mean);
  test.stdev = std::sqrt(squares / (count - 1));
  if (test.stdev <= kSpreadRounding * largest) {
    test.stdev = 0;
    return of_equal_differences(test, options.alpha);
  }
  const double r = 1 + count * options.effect_variance;
  const double x = count * test.mean * test.mean / (test.stdev * test.stdev) / (count - 1);
  const double log_e = -std::log(r) / 2 + count / 2 * (std::log1p(x) - std::log1p(x / r));
  test.e_value = std::exp(std::min(log_e, 700.0));
  test.p = std::clamp(std::exp(-log_e), p_of_signs(test.n), 1.0);
  const double half = sequential_half_width(test.n, test.stdev, options);
  if (std::isfinite(half)) test.interval = Interval{test.mean - half, test.mean + half, 1 - options.alpha};
  return test;
}

double sequential_half_width(std::int64_t n, double stdev, const SequentialOptions& options) {
  return width_factor(n, options) * stdev;
}

}  // namespace warpmark::stats
