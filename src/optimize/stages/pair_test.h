// Is the second of two faster? Judged after every pair of measurements, with as many pairs as the size of the effect
// needs: a threefold gain is decided by two pairs, a gain of 3 % may take twenty. Pure.
//
// The logarithms of the ratios get a t interval with a moderated variance (Smyth 2004, Stat. Appl. Genet. Mol. Biol.
// 3(1):3): what programs usually vary by counts as so many degrees of freedom and is outvoted by the data. Looks at the
// data share the error probability: the k-th has alpha * 6 / (pi k)^2, whose sum over all k is alpha (union bound).
#pragma once

#include <cstdint>
#include <span>

#include "model/comparison.h"
#include "model/optimization.h"

namespace warpmark::optimize {

/// What is known of the variation before there are data: standard deviation of the logarithm of the ratio of a pair,
/// and the degrees of freedom that this counts as.
struct PairPrior {
  double spread = 0;
  double weight = 0;
};

/// Of fresh processes: repeated runs of 40 public and own programs differed by 1 to 8 % (docs/results), median 3 %.
inline constexpr PairPrior kRunPrior{.spread = 0.05, .weight = 3};
/// Of blocks of steps in one process.
inline constexpr PairPrior kBlockPrior{.spread = 0.03, .weight = 3};

/// Pairs after which a gain that is unlikely is given up, though a decision is wanted.
inline constexpr std::int64_t kPairsUntilFutile = 3;
/// Rounds of blocks that are measured at a time, and at most.
inline constexpr std::int64_t kBlockRounds = 2, kMostBlockRounds = 8;
inline constexpr double kBlockAlpha = 0.05;

struct PairVerdict {
  Verdict verdict = Verdict::inconclusive;
  bool futile = false;  ///< inconclusive, and a gain of half the effect is unlikely: no use in further pairs
  SpeedUp speedup;      ///< time before / time after
};

/// `before_s` and `after_s` have one time for each pair, at least one. `effect`: smallest gain that matters (ratio).
/// Better and worse are significant and at least half of it, as in `compare`; same is an interval within the effect.
[[nodiscard]] PairVerdict judge_pairs(std::span<const double> before_s, std::span<const double> after_s, double effect,
                                      double alpha, const PairPrior& prior);

/// An estimate in one process that fresh processes should confirm or refute at once: a clear gain, whose
/// interval holds no loss. What is small is looked for together with the rest first.
[[nodiscard]] bool is_worth_proof(const SpeedUp& estimate);

/// Two plans this close, relative, are as fast as each other: then the simpler one is better.
inline constexpr double kAsFast = 0.05;

/// Whether further blocks are worth their time: where a decision is wanted, or the interval is too wide to go on.
[[nodiscard]] bool needs_blocks(const PairVerdict& judged, bool decide);

}  // namespace warpmark::optimize
