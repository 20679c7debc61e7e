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

// Paired differences judged at every look, whatever their distribution: a t test, which is best where noise is normal,
// and tests of symmetry, which no outlier and no second mode can blind, joined without asking which of them agrees.
//
// Method: e-processes for "the differences are symmetric about `shift`", averaged with weights fixed beforehand. An
// average of nonnegative supermartingales is one (Vovk, Wang, "E-values: calibration, combination and applications",
// Ann. Stat. 49, 2021), so p = 1 / E holds at every look together (Ville), and the shifts that are not rejected are a
// confidence sequence. Nothing is chosen by what the data say, and the price is at most the logarithm of the weights.
//   t        stats/tests/sequential.h: exact for normal differences
//   signs    given the sizes, the signs of symmetric differences are fair coins; one bets on them with stakes
//            lambda * score, where the score may depend on the sizes seen so far (testing by betting: Ramdas, Ruf,
//            Larsson, Koolen, arXiv 2009.03167; Waudby-Smith, Ramdas, JRSS B 86, 2024). Scores: the sequential rank of
//            the size (Reynolds, "A sequential signed-rank test for symmetry", Ann. Stat. 3, 1975), which is
//            Wilcoxon's; one, which is the sign test and so speaks of the median (Howard, Ramdas, "Sequential
//            estimation of quantiles", Bernoulli 28, 2022); and one less the rank, which trusts small differences most
//            and so looks past bursts. Each is a mixture over lambda.
// Where the order of the variants within a round is random, fair coins are no assumption about the machine: under "no
// difference" the signs are those of that order.
//
// What is known of the disturbance of a round (time stolen, waiting for a CPU) may set the stake too, as long as it
// treats both variants alike: exchanging them must leave it as it is.

struct SequentialPairedTest {
  std::int64_t n = 0;
  double centre = 0;   ///< pseudo-median of the differences (Hodges, Lehmann); of thousands their median
  double stdev = 0;    ///< with n - 1
  double e_value = 1;  ///< evidence against 0
  double p = 1;        ///< two-sided
  /// Of the centre of symmetry, at confidence 1 - alpha at all n together; absent while n is too small to say anything.
  std::optional<Interval> interval;
  /// The standard deviation with which the t test alone would have this interval: what the noise is worth.
  double worth_stdev = 0;
};

/// `disturbances` is empty, or has for each difference how much its round was disturbed (any scale, larger is worse).
/// As for sequential_t no p below 2^(2-n) is believed, so that alpha = 5 % needs 7 differences at least.
[[nodiscard]] SequentialPairedTest sequential_paired(std::span<const double> differences,
                                                     std::span<const double> disturbances = {},
                                                     const SequentialOptions& options = {});

/// Evidence of the bets on signs alone against symmetry about `shift`: the average over scores and stakes.
[[nodiscard]] double sign_evidence(std::span<const double> differences, std::span<const double> disturbances,
                                   double shift);

}  // namespace warpmark::stats
