// Do raters agree? Krippendorff's alpha (Content Analysis, 4th ed. 2018, chapter 12) for any number of raters, missing
// ratings, and four levels of measurement.
// Does a metric agree with people? Pearson's, Spearman's and Kendall's tau-b correlation as SciPy computes them, and
// the pairwise accuracy with calibrated ties of Deutsch, Foster, Freitag ("Ties Matter", EMNLP 2023).
// Who wins? Win rates, the Bradley-Terry model (Biometrika 39, 1952; fitted by Hunter's MM algorithm, Ann. Stat. 32,
// 2004) on Elo's scale, and Elo's sequential rating for those who publish it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::accuracy {

enum class Measurement { nominal, ordinal, interval, ratio };

/// nominal, ordinal, interval, ratio; usage error for others.
[[nodiscard]] Result<Measurement> measurement_from(std::string_view name);

/// Ratings of one item, in any order; those that are missing are left out.
using ItemRatings = std::vector<double>;

/// 1 is agreement, 0 what chance gives. Items with fewer than two ratings say nothing. 1 where all ratings are equal.
[[nodiscard]] double krippendorff_alpha(std::span<const ItemRatings> items, Measurement measurement);

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

/// One comparison: the share of the win that `first` got, 1, 0, or 0.5 for a tie.
struct Duel {
  std::size_t first = 0;
  std::size_t second = 0;
  double win = 0;
};

struct PlayerShare {
  double wins = 0;  ///< ties count half
  double games = 0;
};
[[nodiscard]] std::vector<PlayerShare> win_shares(std::span<const Duel> duels, std::size_t players);

/// On Elo's scale: 400 points are odds of ten to one; their mean is 1000. Ties are half a win each. A player who won or
/// lost all would be infinitely far: each pair that met counts `prior` games drawn beside theirs.
[[nodiscard]] std::vector<double> bradley_terry(std::span<const Duel> duels, std::size_t players, double prior = 0);

struct EloOptions {
  double k = 32;
  double start = 1000;
};
/// In the order of the duels, on which it depends.
[[nodiscard]] std::vector<double> elo(std::span<const Duel> duels, std::size_t players, const EloOptions& options = {});

/// Whether the model has finite ratings: every player can be reached from every other by a chain of wins (Ford, 1957).
[[nodiscard]] bool is_connected_by_wins(std::span<const Duel> duels, std::size_t players);

}  // namespace warpmark::accuracy
