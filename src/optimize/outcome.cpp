#include "optimize/outcome.h"

#include <algorithm>

namespace warpmark::optimize {

Settings plan_of(const Journey& journey) {
  Settings settings;
  for (const auto& [knob, value] : journey.plan) settings.push_back({knob, value});
  return settings;
}

int outcome_code(const Journey& journey) {
  if (!journey.unreliable.empty()) return 5;
  if (!journey.complete && !journey.optimized) return 3;
  const auto any_asked = [&](TrialOutcome outcome) {
    return std::any_of(journey.steps.begin(), journey.steps.end(), [&](const JourneyStep& step) {
      // Of several values one that held is enough.
      const bool held = std::any_of(journey.plan.begin(), journey.plan.end(),
                                    [&](const auto& setting) { return setting.first == step.knob; });
      return step.asked && !held && step.outcome == outcome;
    });
  };
  if (any_asked(TrialOutcome::rejected)) return 4;
  if (any_asked(TrialOutcome::slower) || any_asked(TrialOutcome::failed)) return 1;
  if (!journey.plan.empty()) return journey.optimized ? 0 : 3;
  const bool open = std::any_of(journey.steps.begin(), journey.steps.end(),
                                [](const JourneyStep& step) { return step.outcome == TrialOutcome::undecided; });
  return open ? 3 : 0;
}

}  // namespace warpmark::optimize
