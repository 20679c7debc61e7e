// Is the difference between two systems on the same examples real? Each test where it belongs:
//
//   right or wrong          McNemar's test, exact and with mid-p (Psychometrika 12, 1947; Fagerland, BMC 13, 2013);
//                           Tango's score interval (Stat. Med. 17, 1998) with a continuity correction of one pair,
//                           without which it covers 93 % for 95
//   a score an example      paired t, with clusters where examples share a passage (Miller, arXiv 2411.00640); Wilcoxon
//   a score of the corpus   paired bootstrap (Koehn, EMNLP 2004; centred as in Moses and sacreBLEU) and approximate
//                           randomization (Riezler, Maxwell, 2005)
//
// Differences are second - first.
#pragma once

#include <cstdint>
#include <optional>

#include "accuracy/scoring/measured.h"
#include "accuracy/significance/intervals.h"

namespace warpmark::accuracy {

struct McNemar {
  std::int64_t only_first = 0;  ///< right in the first, wrong in the second
  std::int64_t only_second = 0;
  double p = 1;  ///< exact, two-sided
  double mid_p = 1;
};
[[nodiscard]] McNemar mcnemar(std::int64_t only_first, std::int64_t only_second);

/// Of second - first, the shares of n pairs. Covers at least its confidence, and 95 % for each side at 90 %.
[[nodiscard]] Interval paired_share_interval(const McNemar& pairs, std::int64_t n, double confidence);

/// The largest mean that n units which showed no difference leave possible, where each could have shown 1.
[[nodiscard]] double unseen_mean(std::int64_t n, double confidence);

struct MeanDifference {
  double estimate = 0;
  double standard_error = 0;  ///< clustered where there are groups
  double degrees = 0;
  double p = 1;
  Interval interval;
};
/// Of `each`; nothing for metrics without one or with fewer than two groups.
[[nodiscard]] std::optional<MeanDifference> paired_means(const Measured& measured, std::size_t first,
                                                         std::size_t second, const Groups& groups, double confidence);

struct PairedBootstrap {
  double p = 1;                      ///< two-sided, (1 + #{|d* - mean d*| >= |d|}) / (1 + resamples)
  double share_better = 0;           ///< of resamples in which the second is above the first; ties count half
  double standard_error = 0;         ///< of the difference
  Interval interval;                 ///< of the difference
  Interval narrower;                 ///< of confidence 1 - 2 alpha, for equivalence
  std::optional<Interval> relative;  ///< of the difference over |first|; none where the first can be 0
};
[[nodiscard]] PairedBootstrap paired_bootstrap(const Measured& measured, std::size_t first, std::size_t second,
                                               const Groups& groups, const ResampleOptions& options);

/// p by exchanging the two systems' answers to each group of examples with probability 1/2:
/// (1 + #{|d*| >= |d|}) / (1 + resamples).
[[nodiscard]] double approximate_randomization(const Measured& measured, std::size_t first, std::size_t second,
                                               const Groups& groups, const ResampleOptions& options);

/// Fewest examples that find a difference with 80 % power at alpha, from the standard error of this many. Nothing for
/// no difference.
[[nodiscard]] std::optional<std::int64_t> examples_for_power(double difference, double standard_error,
                                                             std::int64_t examples, double alpha = 0.05,
                                                             double power = 0.8);

}  // namespace warpmark::accuracy
