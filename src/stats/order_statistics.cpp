#include "stats/order_statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "base/check.h"
#include "stats/distributions.h"

namespace warpmark::stats {
namespace {

// Without promotion to long double the error stays below 1e-13, far under what a coverage needs, at a third of the
// time.
using Binomial = boost::math::binomial_distribution<double, DoublePolicy>;

// A coverage that equals the demand up to rounding (1 - 2/32 against 0.9375) meets it.
constexpr double kCoverageRounding = 1e-12;

bool is_open_ratio(double value) { return value > 0 && value < 1; }

/// P(k <= B <= n-k) for B ~ binomial(n, 1/2).
double median_coverage(std::int64_t n, std::int64_t k) {
  return 1 - 2 * boost::math::cdf(Binomial(static_cast<double>(n), 0.5), static_cast<double>(k - 1));
}

}  // namespace

std::optional<RankInterval> median_ranks(std::int64_t n, double confidence) {
  WM_CHECK(is_open_ratio(confidence));
  if (n < samples_needed(0.5, confidence)) return std::nullopt;
  // The normal approximation is off by at most a rank or two; the binomial decides.
  const double z = normal_quantile(0.5 + confidence / 2);
  const double count = static_cast<double>(n);
  const auto guess = static_cast<std::int64_t>((count - z * std::sqrt(count)) / 2);
  auto k = std::clamp<std::int64_t>(guess, 1, n / 2);
  double coverage = median_coverage(n, k);
  while (coverage < confidence - kCoverageRounding) coverage = median_coverage(n, --k);
  while (k < n / 2) {
    const double narrower = median_coverage(n, k + 1);
    if (narrower < confidence - kCoverageRounding) break;
    coverage = narrower;
    ++k;
  }
  return RankInterval{k, n + 1 - k, coverage};
}

std::optional<RankInterval> quantile_ranks(std::int64_t n, double p, double confidence) {
  WM_CHECK(is_open_ratio(p) && is_open_ratio(confidence));
  if (n < samples_needed(p, confidence)) return std::nullopt;
  // The fewest counts B in [1, n-1] that together have the wanted probability: the distribution has one peak, so take
  // the peak and then always the likelier neighbour.
  const double count = static_cast<double>(n);
  const double odds = p / (1 - p);
  const auto peak = std::clamp<std::int64_t>(static_cast<std::int64_t>((count + 1) * p), 1, n - 1);
  const double at_peak = boost::math::pdf(Binomial(count, p), static_cast<double>(peak));
  const auto below = [&](std::int64_t b, double mass) {  // P(B = b-1) from P(B = b)
    return b <= 1 ? 0.0 : mass * static_cast<double>(b) / (static_cast<double>(n - b + 1) * odds);
  };
  const auto above = [&](std::int64_t b, double mass) {  // P(B = b+1) from P(B = b)
    return b >= n - 1 ? 0.0 : mass * static_cast<double>(n - b) * odds / static_cast<double>(b + 1);
  };
  std::int64_t first = peak, last = peak;
  double coverage = at_peak;
  double next_below = below(first, at_peak), next_above = above(last, at_peak);
  while (coverage < confidence - kCoverageRounding && (first > 1 || last < n - 1)) {
    if (last >= n - 1 || (first > 1 && next_below >= next_above)) {
      coverage += next_below;
      --first;
      next_below = below(first, next_below);
    } else {
      coverage += next_above;
      ++last;
      next_above = above(last, next_above);
    }
  }
  return RankInterval{first, last + 1, std::min(coverage, 1.0)};
}

std::int64_t samples_needed(double p, double confidence) {
  WM_CHECK(is_open_ratio(p) && is_open_ratio(confidence));
  const auto coverage = [&](std::int64_t n) {
    return 1 - std::pow(p, static_cast<double>(n)) - std::pow(1 - p, static_cast<double>(n));
  };
  // The rarer tail alone gives a lower bound.
  const double bound = std::log1p(-confidence) / std::log(std::max(p, 1 - p));
  auto n = std::max<std::int64_t>(2, static_cast<std::int64_t>(bound) - 1);
  while (coverage(n) < confidence - kCoverageRounding) ++n;
  return n;
}

double quantile_of_sorted(std::span<const double> sorted, double p) {
  WM_CHECK(!sorted.empty() && p >= 0 && p <= 1);
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0 || below + 1 >= sorted.size()) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

}  // namespace warpmark::stats
