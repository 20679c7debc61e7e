// How sure is a score? Clopper and Pearson's exact interval for shares (Biometrika 26, 1934); the bootstrap over
// examples for everything else, where examples that belong together (questions on one passage) are drawn together.
// Percentiles are widened for few examples (Hesterberg, Am. Stat. 69, 2015): without it 20 examples cover 93 % for 95.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accuracy/scoring/measured.h"
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

}  // namespace warpmark::accuracy
