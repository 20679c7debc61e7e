#include "stats/tests/rank_and_t_tests.h"

#include <boost/math/distributions/non_central_t.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

struct Ranks {
  std::vector<std::int64_t> doubled;  ///< twice the mean rank of each value, in the order given
  double ties = 0;                    ///< sum of t^3 - t over groups of t equal values
};

Ranks ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  Ranks ranks{std::vector<std::int64_t>(values.size())};
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    // Ranks begin+1 .. end, whose doubled mean is begin + 1 + end.
    for (std::size_t i = begin; i < end; ++i) ranks.doubled[order[i]] = static_cast<std::int64_t>(begin + 1 + end);
    const auto size = static_cast<double>(end - begin);
    ranks.ties += size * size * size - size;
    begin = end;
  }
  return ranks;
}

/// How many subsets of `doubled` have each sum. counts[s] for subsets of `size` items, or of any size if size < 0.
std::vector<double> subset_counts(std::span<const std::int64_t> doubled, std::int64_t size) {
  const auto total = static_cast<std::size_t>(std::accumulate(doubled.begin(), doubled.end(), std::int64_t{0}));
  const std::size_t layers = size < 0 ? 1 : static_cast<std::size_t>(size) + 1;
  std::vector<std::vector<double>> counts(layers, std::vector<double>(total + 1));
  counts[0][0] = 1;
  std::size_t reached = 0;
  for (const std::int64_t item : doubled) {
    const auto step = static_cast<std::size_t>(item);
    reached += step;
    for (std::size_t layer = layers; layer-- > (size < 0 ? 0U : 1U);) {
      const auto& from = counts[size < 0 ? 0 : layer - 1];
      for (std::size_t sum = reached; sum >= step && sum <= reached; --sum) counts[layer][sum] += from[sum - step];
    }
  }
  return counts.back();
}

double two_sided(const std::vector<double>& counts, std::int64_t observed) {
  double below = 0, above = 0, all = 0;
  for (std::size_t sum = 0; sum < counts.size(); ++sum) {
    all += counts[sum];
    if (static_cast<std::int64_t>(sum) <= observed) below += counts[sum];
    if (static_cast<std::int64_t>(sum) >= observed) above += counts[sum];
  }
  return std::min(1.0, 2 * std::min(below, above) / all);
}

double normal_p(double deviation, double variance) {
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::fabs(deviation) - 0.5);
  return std::min(1.0, 2 * normal_tail(distance / std::sqrt(variance)));
}

/// The largest k with P(statistic < k) <= alpha / 2 of an untied distribution: the k-th smallest difference bounds the
/// interval. At least 1.
std::size_t bound(const std::vector<double>& counts, double alpha) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double below = 0;
  std::size_t k = 0;
  // Sums are doubled and start at the smallest possible one; only reachable sums count as steps.
  for (const double count : counts) {
    if (count == 0) continue;
    below += count;
    if (below / all > alpha / 2) break;
    ++k;
  }
  return std::max<std::size_t>(1, k);
}

std::vector<std::int64_t> untied(std::size_t n) {
  std::vector<std::int64_t> doubled(n);
  for (std::size_t i = 0; i < n; ++i) doubled[i] = 2 * static_cast<std::int64_t>(i + 1);
  return doubled;
}

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// The k-th smallest and k-th largest.
Shift shift_of(std::vector<double> differences, std::size_t k, double confidence) {
  std::sort(differences.begin(), differences.end());
  k = std::clamp<std::size_t>(k, 1, differences.size());
  const double low = differences[k - 1], high = differences[differences.size() - k];
  return {median_of_sorted(differences), {std::min(low, high), std::max(low, high), confidence}};
}

std::size_t normal_bound(double mean, double variance, double alpha) {
  return static_cast<std::size_t>(
      std::max(1.0, std::floor(mean - normal_quantile(1 - alpha / 2) * std::sqrt(variance))));
}

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

RankTest mann_whitney(std::span<const double> first, std::span<const double> second, RankMethod method) {
  WM_CHECK(!first.empty() && !second.empty());
  std::vector<double> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  const Ranks ranks = ranks_of(all);
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  const std::int64_t doubled_sum = std::accumulate(
      ranks.doubled.begin(), ranks.doubled.begin() + static_cast<std::ptrdiff_t>(first.size()), std::int64_t{0});
  RankTest test;
  test.statistic = static_cast<double>(doubled_sum) / 2 - n * (n + 1) / 2;
  test.exact = method == RankMethod::exact || (method == RankMethod::automatic && all.size() <= kExactValues);
  if (test.exact) {
    test.p = two_sided(subset_counts(ranks.doubled, static_cast<std::int64_t>(first.size())), doubled_sum);
  } else {
    const double total = n + m;
    const double variance = n * m / 12 * (total + 1 - ranks.ties / (total * (total - 1)));
    test.p = normal_p(test.statistic - n * m / 2, variance);
  }
  return test;
}

RankTest wilcoxon_signed_rank(std::span<const double> differences, RankMethod method) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::fabs(difference));
    positive.push_back(difference > 0);
  }
  RankTest test{.exact = true};
  if (sizes.empty()) return test;
  const Ranks ranks = ranks_of(sizes);
  std::int64_t doubled_sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) doubled_sum += positive[i] ? ranks.doubled[i] : 0;
  test.statistic = static_cast<double>(doubled_sum) / 2;
  test.exact = method == RankMethod::exact || (method == RankMethod::automatic && sizes.size() <= kExactValues);
  if (test.exact) {
    test.p = two_sided(subset_counts(ranks.doubled, -1), doubled_sum);
  } else {
    const auto n = static_cast<double>(sizes.size());
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48;
    test.p = normal_p(test.statistic - n * (n + 1) / 4, variance);
  }
  return test;
}

Shift hodges_lehmann(std::span<const double> first, std::span<const double> second, double confidence) {
  WM_CHECK(!first.empty() && !second.empty());
  std::vector<double> differences;
  differences.reserve(first.size() * second.size());
  for (const double x : first) {
    for (const double y : second) differences.push_back(y - x);
  }
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  const std::size_t total = first.size() + second.size();
  const std::size_t k =
      total <= kExactValues
          ? bound(subset_counts(untied(total), static_cast<std::int64_t>(first.size())), 1 - confidence)
          : normal_bound(n * m / 2, n * m * (n + m + 1) / 12, 1 - confidence);
  return shift_of(std::move(differences), k, confidence);
}

Shift pseudo_median(std::span<const double> differences, double confidence) {
  WM_CHECK(!differences.empty());
  std::vector<double> means;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  const auto n = static_cast<double>(differences.size());
  const std::size_t k = differences.size() <= kExactValues
                            ? bound(subset_counts(untied(differences.size()), -1), 1 - confidence)
                            : normal_bound(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, 1 - confidence);
  return shift_of(std::move(means), k, confidence);
}

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
