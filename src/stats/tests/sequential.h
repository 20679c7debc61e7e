// A t test that may be looked at after every sample: its p and its interval hold at every moment together, whenever one
// stops. For paired differences (log ratios) of unknown variance.
//
// Method: the Bayes factor of the t statistic with a normal prior on the standardized effect and the right Haar prior
// on the scale is, under a true difference of 0, a nonnegative martingale of mean 1; by Ville's inequality the chance
// that it ever exceeds 1/alpha is at most alpha. Inverting it over the assumed difference gives a confidence sequence.
// Sources: Lai, Ann. Stat. 4, 1976; Wang, Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
// with unknown variance", arXiv 2310.03722; Perez-Ortiz et al., "E-statistics, group invariance and anytime-valid
// testing", Ann. Stat. 52, 2024. The closed form of the Bayes factor: Gönen et al., Am. Stat. 59, 2005.
//
// The martingale needs normal differences. Under "no difference" the differences of two variants are symmetric whatever
// their distribution, and symmetric heavy tails only make t smaller; what remains are a few differences that happen to
// agree closely (two modes). No p below 2^(2-n), twice the chance that n symmetric differences have one sign, is
// believed; so alpha = 5 % needs at least 7 samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/metric.h"

namespace warpmark::stats {

struct SequentialOptions {
  double alpha = 0.05;
  /// Prior variance of (effect / standard deviation of a difference). Wide priors decide large effects sooner, narrow
  /// ones small effects; any value keeps alpha.
  double effect_variance = 1.0;
};

struct SequentialTest {
  std::int64_t n = 0;
  double mean = 0;
  double stdev = 0;    ///< with n - 1
  double e_value = 1;  ///< evidence against 0; its reciprocal, at most 1, is p
  double p = 1;        ///< two-sided
  /// Of the mean, at confidence 1 - alpha at all n together; absent while n is too small to say anything.
  std::optional<Interval> interval;
};

/// Where all differences are equal there is no variance to judge by: p is 2^(2-n) if they are not 0, else 1, and the
/// interval is that one value once 2^(2-n) <= alpha.
[[nodiscard]] SequentialTest sequential_t(std::span<const double> differences, const SequentialOptions& options = {});

/// Half width of the interval after n samples with this standard deviation; infinite while there is none.
[[nodiscard]] double sequential_half_width(std::int64_t n, double stdev, const SequentialOptions& options = {});

}  // namespace warpmark::stats
