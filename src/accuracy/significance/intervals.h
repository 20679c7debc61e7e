// How sure is a score? Clopper and Pearson's exact interval for shares (Biometrika 26, 1934); the bootstrap over
// examples for everything else, where examples that belong together (questions on one passage) are drawn together.
// Percentiles are widened for few examples (Hesterberg, Am. Stat. 69, 2015): without it 20 examples cover 93 % for 95.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/scoring/metric.h"
#include "model/metric.h"

namespace warpmark::accuracy {

/// Of k successes in n: covers at least its confidence, whatever the share. The whole of [0, 1] for n = 0.
[[nodiscard]] Interval clopper_pearson(double k, double n, double confidence);

struct ResampleOptions {
  std::int64_t resamples = 1000;
  double confidence = 0.95;
  std::uint64_t seed = 12345;
};

/// Examples that are drawn together; each example in one group.
class Groups {
 public:
  /// Every example on its own.
  explicit Groups(std::size_t examples) : examples_(examples) {}
  /// By name; examples of an empty name stand alone.
  explicit Groups(std::span<const std::string> names);
  [[nodiscard]] std::size_t count() const { return members_.empty() ? examples_ : members_.size(); }
  [[nodiscard]] std::size_t examples() const { return examples_; }
  [[nodiscard]] bool are_single() const { return members_.empty(); }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& members() const { return members_; }
  /// Draws as many groups as there are, with replacement; example indices into `into`.
  void draw(std::uint64_t seed, std::uint64_t resample, std::vector<std::uint32_t>& into) const;

 private:
  std::size_t examples_;
  std::vector<std::vector<std::uint32_t>> members_;  ///< empty where every example stands alone
};

struct ScoreInterval {
  double low = 0;
  double high = 0;
  std::string method;  ///< "exact", "bootstrap", "clustered bootstrap"; empty: too few or equal examples
};

[[nodiscard]] ScoreInterval interval_of(const Measured& measured, std::size_t system, const Groups& groups,
                                        const ResampleOptions& options);

/// Quantiles of resampled values for the interval, by the widened levels; sorts them. `units` is how many independent
/// things were drawn.
[[nodiscard]] Interval percentile_interval(std::vector<double>& resampled, std::size_t units, double confidence);

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
