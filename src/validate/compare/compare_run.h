// An A/B test: runs of two variants in a random order until every metric is decided, the rounds are over or the budget
// is used up; then the verdicts. The world comes in through the experiments, the clock and the events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/experiment.h"
#include "model/comparison.h"
#include "validate/compare/schedule.h"
#include "validate/judge/accuracy_gate.h"

namespace warpmark::validate {

struct Variant {
  measure::Experiment* experiment = nullptr;
  measure::Config config;
  std::string name;
};

struct AbOptions {
  Schedule schedule;
  double effect = 0.01;
  double alpha = 0.05;
  double budget_s = 0;           ///< of this invocation; 0 is without limit
  std::int64_t warmup_runs = 1;  ///< of each variant, discarded
  bool stop_early = true;        ///< paired schedules only; else all rounds are run and judged by a fixed-size test
  std::vector<AccuracyGate> accuracy;
  /// Quantities that are measured anyway (model/beside.h) and that shall decide, as somebody declared them.
  std::vector<std::string> declared;
  std::int64_t affordable_rounds = 0;  ///< that a budget allows; 0: as many as the schedule has. Set by run_ab.
  bool further_tests = true;           ///< also those that do not decide (validate/further_tests.h)
  const std::atomic<bool>* interrupted = nullptr;
};

/// One run of one variant. `run.metrics` hold one sample each.
struct AbSample {
  Slot slot;
  Run run;
};

struct AbEvents {
  std::function<Status(const AbSample&)> sample_done;  ///< a failure ends the test
  std::function<void(std::int64_t runs, std::int64_t most_runs)> progress;
  std::function<double()> clock_s;  ///< seconds from any origin; the monotonic clock if empty
};

struct AbOutcome {
  Comparison comparison;
  std::vector<AbSample> samples;  ///< known ones first
  bool complete = false;          ///< false when interrupted
};

/// `known` are the samples of an interrupted test of the same schedule, in order; data error if they are not its
/// beginning. The first error of an experiment ends the test. Runs without a common metric are a data error.
[[nodiscard]] Result<AbOutcome> run_ab(const Variant& a, const Variant& b, const AbOptions& options,
                                       std::vector<AbSample> known, const AbEvents& events);

/// Verdicts of complete rounds; of a final look also the further tests, the samples and the differences between the
/// variants' environments. Pure.
[[nodiscard]] Comparison judge_samples(const std::vector<AbSample>& samples, const AbOptions& options, bool final);

/// The verdicts on the same rounds for another smallest effect or probability of error; gates stay as they are. Pure.
void judge_again(Comparison& comparison, double effect, double alpha);

}  // namespace warpmark::validate
