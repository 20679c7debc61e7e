// Does a metric agree with people? Pearson's, Spearman's and Kendall's tau-b correlation as SciPy computes them, and
// the pairwise accuracy with calibrated ties of Deutsch, Foster, Freitag ("Ties Matter", EMNLP 2023).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace warpmark::accuracy {

/// NaN where one side does not vary: correlation is undefined then.
[[nodiscard]] double pearson(std::span<const double> a, std::span<const double> b);
[[nodiscard]] double spearman(std::span<const double> a, std::span<const double> b);
/// By Knight's method (J. Am. Stat. Assoc. 61, 1966), O(n log n).
[[nodiscard]] double kendall_tau_b(std::span<const double> a, std::span<const double> b);

/// Ranks from 1, ties share the mean of theirs.
[[nodiscard]] std::vector<double> mean_ranks(std::span<const double> values);

struct PairwiseAccuracy {
  double accuracy = 0;  ///< share of pairs of items that both order alike, or both call tied
  double epsilon = 0;   ///< metric values closer than or at this are called tied
};
/// With the epsilon that gives the highest accuracy, the smallest of several. O(n^2 log n).
[[nodiscard]] PairwiseAccuracy pairwise_accuracy(std::span<const double> metric, std::span<const double> human);

}  // namespace warpmark::accuracy
