#include "accuracy/ratings/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "stats/moments.h"

namespace warpmark::accuracy {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::vector<std::size_t> sorted_order(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  return order;
}

double pairs_of(double n) { return n * (n - 1) / 2; }

/// Pairs within runs of equal items.
template <typename Equal>
double tied_pairs(std::size_t n, Equal equal) {
  double pairs = 0, run = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    if (i < n && equal(i - 1, i)) {
      run += 1;
    } else {
      pairs += pairs_of(run);
      run = 1;
    }
  }
  return pairs;
}

/// Sorts and counts how many neighbours had to be exchanged.
double exchanges(std::vector<double>& values, std::vector<double>& space, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = begin + (end - begin) / 2;
  double count = exchanges(values, space, begin, middle) + exchanges(values, space, middle, end);
  std::size_t i = begin, j = middle, out = begin;
  while (i < middle || j < end) {
    if (j == end || (i < middle && values[i] <= values[j])) {
      space[out++] = values[i++];
    } else {
      count += static_cast<double>(middle - i);
      space[out++] = values[j++];
    }
  }
  std::copy(space.begin() + static_cast<std::ptrdiff_t>(begin), space.begin() + static_cast<std::ptrdiff_t>(end),
            values.begin() + static_cast<std::ptrdiff_t>(begin));
  return count;
}

}  // namespace

double pearson(std::span<const double> a, std::span<const double> b) {
  const auto first = stats::moments_of(a), second = stats::moments_of(b);
  if (!(first.squares > 0) || !(second.squares > 0)) return kUndefined;
  double products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) products += (a[i] - first.mean) * (b[i] - second.mean);
  return std::clamp(products / std::sqrt(first.squares) / std::sqrt(second.squares), -1.0, 1.0);
}

std::vector<double> mean_ranks(std::span<const double> values) {
  const auto order = sorted_order(values);
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return ranks;
}

double spearman(std::span<const double> a, std::span<const double> b) { return pearson(mean_ranks(a), mean_ranks(b)); }

double kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j]; });
  const double all = pairs_of(static_cast<double>(a.size()));
  const double tied_a = tied_pairs(a.size(), [&](auto i, auto j) { return a[order[i]] == a[order[j]]; });
  const double tied_both =
      tied_pairs(a.size(), [&](auto i, auto j) { return a[order[i]] == a[order[j]] && b[order[i]] == b[order[j]]; });
  std::vector<double> values, space(a.size());
  for (const auto i : order) values.push_back(b[i]);
  const double discordant = exchanges(values, space, 0, values.size());
  const double tied_b = tied_pairs(values.size(), [&](auto i, auto j) { return values[i] == values[j]; });
  const double denominator = std::sqrt(all - tied_a) * std::sqrt(all - tied_b);
  if (!(denominator > 0)) return kUndefined;
  const double concordant_less_discordant = all - tied_a - tied_b + tied_both - 2 * discordant;
  return std::clamp(concordant_less_discordant / denominator, -1.0, 1.0);
}

PairwiseAccuracy pairwise_accuracy(std::span<const double> metric, std::span<const double> human) {
  struct Pair {
    double distance = 0;  ///< of the metric's values
    int gain = 0;         ///< in right pairs, where it is called tied
  };
  std::vector<Pair> pairs;
  std::int64_t right = 0;
  for (std::size_t i = 0; i < metric.size(); ++i) {
    for (std::size_t j = i + 1; j < metric.size(); ++j) {
      const double ours = metric[i] - metric[j], theirs = human[i] - human[j];
      const bool same_order = (ours > 0 && theirs > 0) || (ours < 0 && theirs < 0);
      right += same_order;
      pairs.push_back({std::fabs(ours), (theirs == 0 ? 1 : 0) - (same_order ? 1 : 0)});
    }
  }
  if (pairs.empty()) return {};
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
  std::int64_t best = -1;
  double epsilon = 0;
  for (std::size_t i = 0; i < pairs.size();) {
    if (i == 0 && pairs[0].distance > 0) best = right;  // no pair is called tied
    const double distance = pairs[i].distance;
    for (; i < pairs.size() && pairs[i].distance == distance; ++i) right += pairs[i].gain;
    if (right > best) {
      best = right;
      epsilon = distance;
    }
  }
  return {static_cast<double>(best) / static_cast<double>(pairs.size()), epsilon};
}

}  // namespace warpmark::accuracy
