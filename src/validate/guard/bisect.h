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
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "validate/compare/compare_run.h"

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

// One question of a bisection: is this commit like the good revision or like the bad one? Rounds of good, bad and twice
// the candidate in random order, until the answer is clear.
//
// A round's contrast is y = (log c1 + log c2) / 2 - (log good + log bad) / 2, turned so that it is positive near the
// bad revision. The runs of a round are taken within moments, so a drift of the machine cancels; there are as many runs
// on one side as on the other, so y is symmetric about its mean whatever the noise. Whether y is 0 is tested by the
// mean of two e-values, each valid under peeking (Ville): that of the sequential t test (stats/sequential.h), and that
// of the signs with a Beta(1/2, 1/2) mixture (Krichevsky, Trofimov, 1981; Ramdas et al., Statist. Sci. 38, 2023), which
// does not mind outliers. A mean of e-values is one again. Decided when it reaches 1 / alpha and mean and majority
// agree on the side.

/// Variants of a probe's samples, as Slot::variant.
enum ProbeVariant : int { kGoodVariant = 0, kBadVariant = 1, kCandidateVariant = 2 };

struct ProbeOptions {
  double alpha = 0.02;
  std::int64_t rounds = 200;  ///< at most
  std::uint64_t seed = 1;
  bool bad_is_higher = true;
  std::int64_t warmup_runs = 1;     ///< of the candidate
  std::function<bool()> must_stop;  ///< asked between runs: Ctrl-C, a budget; empty: never
};

/// Four runs a round: variant and round of run `index`.
[[nodiscard]] Slot probe_slot(std::uint64_t seed, std::int64_t index);

struct ProbeEvidence {
  std::int64_t rounds = 0;
  double mean = 0;     ///< of y
  double e_value = 1;  ///< against "y is 0"
  bool decided = false;
  double bad_probability = 0.5;         ///< by the t distribution around the mean; not yet bounded
  std::optional<double> ratio_to_good;  ///< of medians
};

/// Of complete rounds. Data error for a value that has no logarithm.
[[nodiscard]] Result<ProbeEvidence> judge_probe(std::span<const AbSample> samples, const ProbeOptions& options);

struct ProbeOutcome {
  ProbeEvidence evidence;
  std::int64_t runs = 0;
  bool complete = false;              ///< false when it had to stop
  std::optional<Error> unmeasurable;  ///< why the candidate cannot be measured
};

/// `known` are the samples of an interrupted probe. An error of the good or the bad variant is the result's error; one
/// of the candidate makes it unmeasurable.
[[nodiscard]] Result<ProbeOutcome> run_probe(const Variant& good, const Variant& bad, const Variant& candidate,
                                             const ProbeOptions& options, std::vector<AbSample> known,
                                             const std::function<Status(const AbSample&)>& sample_done);

}  // namespace warpmark::validate
