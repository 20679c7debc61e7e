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
  std::function<Environment(std::int64_t)> environment = [](std::int64_t) { return Environment{}; };

  Result<Run> run(const measure::Config& /*config*/) override {
    if (error) return *error;
    Run run;
    run.workload = "fake";
    run.outcome = Outcome::passed;
    run.environment = environment(runs);
    Metric sample{.id = metric, .unit = "s", .better = better, .samples = {value_(runs)}, .round_sizes = {1}};
    sample.summary = stats::summarize(sample.samples);
    run.metrics.push_back(std::move(sample));
    ++runs;
    return run;
  }

 private:
  std::function<double(std::int64_t)> value_;
};

}  // namespace warpmark::validate
