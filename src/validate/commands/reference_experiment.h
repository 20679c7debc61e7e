// A command beside a reference, such as an older revision of it: every run is one of each, right after one another and
// in random order, and tells the ratio of the two. What the machine does to both (the load of others, clocks, a
// neighbour on the host) goes out of the ratio, so its history is far quieter than that of the metric itself on a
// machine that is shared: the idea of Bulej et al., "Duet Benchmarking", ICPE 2020, and of the pairs of `compare`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measure/experiment.h"

namespace warpmark::validate {

class ReferenceExperiment final : public measure::Experiment {
 public:
  /// `reference_name` tells references apart: ratios to another one are another series. Both experiments outlive this.
  ReferenceExperiment(measure::Experiment& subject, measure::Experiment& reference, std::string reference_name,
                      std::uint64_t seed)
      : subject_(subject), reference_(reference), name_(std::move(reference_name)), seed_(seed) {}

  /// The subject's run, and for each of its metrics the ratio to the reference's, where both are above 0. Errors of the
  /// reference say so.
  Result<Run> run(const measure::Config& config) override;

 private:
  Result<Run> run_reference(const measure::Config& config);
  measure::Experiment& subject_;
  measure::Experiment& reference_;
  std::string name_;
  std::uint64_t seed_;
  std::uint64_t runs_ = 0;
};

/// "cpu_time_vs_4f1c2ab0d1".
[[nodiscard]] std::string ratio_metric(std::string_view metric, std::string_view reference_name);

/// The metric that a ratio is of: "cpu_time"; empty for what is none.
[[nodiscard]] std::string_view metric_of_ratio(std::string_view id);

/// The part of a commit's id that names a reference.
[[nodiscard]] std::string reference_name(std::string_view commit);

}  // namespace warpmark::validate
