#include "stats/tests/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "stats/distributions.h"

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

}  // namespace warpmark::stats
