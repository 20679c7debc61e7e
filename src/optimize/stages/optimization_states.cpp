#include "optimize/stages/optimization_states.h"

#include <fmt/format.h>

#include <cmath>

#include "optimize/stages/search_state.h"

namespace warpmark::optimize {
namespace {

/// std::hypot is a newer symbol of glibc than the distribution may ask for.
double root_of_squares(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

SpeedUp product(const std::optional<SpeedUp>& a, const SpeedUp& b) {
  if (!a) return b;
  // Intervals of independent tests: half widths of logarithms add as squares.
  const double center = std::log(a->ratio) + std::log(b.ratio);
  const double low = root_of_squares(std::log(a->ratio / a->low), std::log(b.ratio / b.low));
  const double high = root_of_squares(std::log(a->high / a->ratio), std::log(b.high / b.ratio));
  return {std::exp(center), std::exp(center - low), std::exp(center + high), b.confidence};
}

bool is_unharmed(const VariantResult& result) { return result.failure.empty() && result.answers_same; }

TrialOutcome outcome_in_process(const VariantResult& result, double effect) {
  if (!result.failure.empty()) return TrialOutcome::failed;
  if (!result.answers_same) return TrialOutcome::rejected;
  return result.gain && result.gain->high >= 1 + effect ? TrialOutcome::undecided : without_gain(result.gain);
}

std::string why_not(const VariantResult& result) {
  if (!result.failure.empty()) return result.failure;
  if (!result.answers_same) return result.answers.text;
  return result.gain ? interval_text(*result.gain) : "no steps could be timed";
}

void judge_trial(const TrialResult& result, OptimizationStep& step) {
  step.answers = result.answers;
  step.memory_bytes = result.memory_bytes;
  step.times_before_s = result.times_from_s;
  step.times_with_s = result.times_to_s;
  step.found = result.speedup;
  const auto interval = result.speedup ? interval_text(*result.speedup) : std::string();
  if (!result.failure.empty()) {
    step.outcome = TrialOutcome::failed;
    step.reason = result.failure;
  } else if (!result.answers_same) {
    step.outcome = TrialOutcome::rejected;
    step.reason = result.answers.text;
  } else if (result.verdict == Verdict::better) {
    step.outcome = TrialOutcome::kept;
    step.reason = "faster: " + interval;
  } else if (result.verdict == Verdict::same || result.verdict == Verdict::worse || result.futile) {
    step.outcome = without_gain(result.speedup);
    step.reason = interval.empty() ? result.reason : interval;
  } else {
    step.outcome = TrialOutcome::undecided;
    step.reason = result.reason;
  }
}

std::vector<std::pair<std::string, double>> phases_of(const ProgramFacts& facts) {
  const auto& phases = facts.phases;
  return {{"data", phases.data},
          {"forward", phases.forward},
          {"backward", phases.backward},
          {"optimizer", phases.optimizer},
          {"rest", phases.rest}};
}

OptimizationState optimized_state(const OptimizationState& baseline, const TrialResult& result) {
  OptimizationState state;
  const auto& facts = result.facts;
  // Of whole runs no step is known.
  state.seconds_per_step =
      facts.seconds_per_step > 0 ? facts.seconds_per_step : baseline.seconds_per_step / result.speedup->ratio;
  state.steps = facts.report.window ? facts.report.window->steps : 0;
  state.start_s = facts.report.window ? facts.report.window->before_s : 0;
  state.memory_bytes = result.memory_bytes;
  state.gpu_utilization = result.gpu_utilization;
  state.joules_per_step = result.joules_per_step;
  if (baseline.samples_per_s) state.samples_per_s = *baseline.samples_per_s * result.speedup->ratio;
  state.phases = phases_of(facts);
  return state;
}

}  // namespace warpmark::optimize
