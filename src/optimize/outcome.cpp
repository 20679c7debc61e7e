#include "optimize/outcome.h"

#include <algorithm>

namespace warpmark::optimize {

Settings plan_of(const Optimization& optimization) {
  Settings settings;
  for (const auto& [knob, value] : optimization.plan) settings.push_back({knob, value});
  return settings;
}

int outcome_code(const Optimization& optimization) {
  if (!optimization.unreliable.empty()) return 5;
  if (!optimization.complete && !optimization.optimized) return 3;
  const auto any_asked = [&](TrialOutcome outcome) {
    return std::any_of(optimization.steps.begin(), optimization.steps.end(), [&](const OptimizationStep& step) {
      // Of several values one that held is enough.
      const bool held = std::any_of(optimization.plan.begin(), optimization.plan.end(),
                                    [&](const auto& setting) { return setting.first == step.knob; });
      return step.asked && !held && step.outcome == outcome;
    });
  };
  if (any_asked(TrialOutcome::rejected)) return 4;
  for (const auto lost : {TrialOutcome::slower, TrialOutcome::no_gain, TrialOutcome::failed}) {
    if (any_asked(lost)) return 1;
  }
  if (!optimization.plan.empty()) return optimization.optimized ? 0 : 3;
  const bool open = std::any_of(optimization.steps.begin(), optimization.steps.end(),
                                [](const OptimizationStep& step) { return step.outcome == TrialOutcome::undecided; });
  return open ? 3 : 0;
}

}  // namespace warpmark::optimize
