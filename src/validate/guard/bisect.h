// Whom to suspect: the probabilities that commit k of a range made the change, updated by noisy answers, and the commit
// to ask next. Pure.
//
// Method: probabilistic bisection. Of n candidates one made a lasting change: commits before it are good, it and those
// after are bad. Each answer is wrong with a known probability, so it never rules a commit out but multiplies odds: a
// wrong answer is outvoted by later ones instead of losing the culprit. The next commit to ask is the one that splits
// the probability in halves (Horstein, IEEE Trans. Inf. Theory 9, 1963; Burnashev, Zigangirov, Probl. Inf. Transm. 10,
// 1974; Karp, Kleinberg, "Noisy binary search and its applications", SODA 2007). Answers come from a test that may be
// looked at after every sample (Waeber, Frazier, Henderson, "Bisection search with noisy responses", SIAM J. Control
// Optim. 51, 2013).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace warpmark::validate {

/// Candidates that no measurable commit tells apart: first to last, mostly one alone.
struct Suspects {
  std::size_t first = 0;
  std::size_t last = 0;
  double probability = 0;
};

class CulpritSearch {
 public:
  /// Candidates are 1 to n >= 1; commit 0 is good and commit n is bad. `prior` is empty or has n weights.
  /// `error` is the least chance that an answer is wrong, within (0, 0.5).
  CulpritSearch(std::size_t n, double error, std::span<const double> prior = {});

  /// An answer: the probability by these measurements alone that commit `index` is bad; bounded by the error.
  void answer(std::size_t index, double bad_probability);
  /// Commit `index` cannot be measured.
  void skip(std::size_t index);
  /// The suspects' first bad commit differs from the last one before them (or does not) as the whole range does.
  void confirm(const Suspects& suspects, bool differs);

  /// The most probable ones.
  [[nodiscard]] Suspects best() const;
  /// The fewest neighbouring candidates around the best that have this probability together.
  [[nodiscard]] Suspects credible(double probability) const;
  /// The most informative commit that was neither asked nor skipped; of two alike the one farther from skipped ones, as
  /// what breaks a build mostly lasts. Empty if none is left that would tell anything.
  [[nodiscard]] std::optional<std::size_t> next() const;
  [[nodiscard]] bool asked(std::size_t index) const { return state_[index] == State::asked; }
  [[nodiscard]] bool skipped(std::size_t index) const { return state_[index] == State::skipped; }
  [[nodiscard]] double probability(std::size_t index) const { return weights_[index]; }

 private:
  enum class State { unknown, asked, skipped };
  void normalize();
  [[nodiscard]] double chance_to_work(std::size_t index) const;

  double error_;
  std::vector<double> weights_;  ///< of candidate k at k; 0 is unused
  std::vector<State> state_;
};

/// A stored result of a commit of the range.
struct CommitResult {
  std::size_t index = 0;  ///< 0 is the good commit
  double value = 0;       ///< above 0
};

/// What stored results tell before anything is measured: weights of candidates 1 to n by how well one step after k - 1
/// fits the logarithms (the likelihood with means and variance unknown), mixed with 10 % of "all alike", so that a
/// history of another day can direct the search but never decide it. Empty where it tells nothing: fewer than 4 points,
/// or no step at all.
[[nodiscard]] std::vector<double> prior_from_history(std::size_t n, std::span<const CommitResult> points);

}  // namespace warpmark::validate
