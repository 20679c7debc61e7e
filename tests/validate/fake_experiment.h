// An experiment of the imagination: metric values come from a function of the run's number.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/experiment.h"
#include "stats/summary.h"

namespace warpmark::validate {

class FakeExperiment final : public measure::Experiment {
 public:
  explicit FakeExperiment(std::function<double(std::int64_t)> value) : value_(std::move(value)) {}

  std::int64_t runs = 0;
  std::optional<Error> error;
  std::string metric = "time";
  Better better = Better::lower;
  std::function<std::vector<double>(std::int64_t)> further;  ///< values of further metrics, if any
  std::function<Environment(std::int64_t)> environment = [](std::int64_t) { return Environment{}; };

  Result<Run> run(const measure::Config& /*config*/) override {
    if (error) return *error;
    Run run;
    run.workload = "fake";
    run.outcome = Outcome::passed;
    run.environment = environment(runs);
    run.metrics.push_back(single(metric, value_(runs)));
    for (const double value : further ? further(runs) : std::vector<double>{}) {
      run.metrics.push_back(single(metric + std::to_string(run.metrics.size()), value));
    }
    ++runs;
    return run;
  }

 private:
  [[nodiscard]] Metric single(const std::string& id, double value) const {
    Metric sample{.id = id, .unit = "s", .better = better, .samples = {value}, .round_sizes = {1}};
    sample.summary = stats::summarize(sample.samples);
    return sample;
  }

  std::function<double(std::int64_t)> value_;
};

}  // namespace warpmark::validate
