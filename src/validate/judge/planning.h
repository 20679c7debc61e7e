// How many rounds a comparison needs, before or while it is taken.
//
// With a known spread: the half width of the interval, of the spread as it will be estimated, and the wandering of the
// mean must fit into the distance from the nearest border of a verdict. While a comparison runs, neither the spread nor
// the true ratio is known: what the rounds so far leave open about both is integrated over (predictive distribution of
// the final mean under flat priors: normal around the mean so far with variance s^2 (1/n - 1/N), s^2 being scaled
// inverse chi-square; Spiegelhalter, Abrams, Myles, "Bayesian Approaches to Clinical Trials", 2004, section 6.6), and N
// is the first that decides with 90 %.
#pragma once

#include <cstdint>

#include "validate/judge/verdict.h"

namespace warpmark::validate {

/// Half width of the interval of a log ratio after n rounds of this spread; infinite while there is none.
[[nodiscard]] double half_width(std::int64_t n, double stdev, const VerdictOptions& options);

/// Fewest rounds for which the interval exists at all.
[[nodiscard]] std::int64_t fewest_rounds(const VerdictOptions& options);

/// Rounds after which an effect at this distance from the nearest border of a verdict is decided with 90 %, the spread
/// being known, or estimated with so many degrees of freedom. `distance` is a log ratio; at most 1 000 000.
[[nodiscard]] std::int64_t rounds_needed(double stdev, double distance, const VerdictOptions& options,
                                         double degrees = 0);

/// Rounds in all after which a comparison is decided with 90 %; more than it has.
struct RoundsToDecide {
  std::int64_t as_measured = 0;  ///< the true ratio being anywhere that the rounds so far leave open
  std::int64_t either_way = 0;   ///< also if the variants are equal, while that is possible
};

/// The p value being adjusted over so many metrics. From 7 rounds on; fewer know too little about the spread for such a
/// promise.
[[nodiscard]] RoundsToDecide rounds_to_decide(const Effect& effect, std::int64_t metrics,
                                              const VerdictOptions& options);

/// The smallest relative difference that n rounds find with 90 %; infinite where n is too small for any.
[[nodiscard]] double detectable_effect(double stdev, std::int64_t n, const VerdictOptions& options);

}  // namespace warpmark::validate
