// From NVML's clocks event reasons: share of the samples in which the GPU is slowed down by its temperature, and the
// clock it loses.
#include <fmt/format.h>

#include "analyze/rules/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  const auto throttle = worst_throttle(evidence, kThermalReasons);
  if (!throttle) return {};
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  const double lost = step * throttle->share * throttle->clock_loss;
  Finding finding = make_finding(kThermalThrottleRule, lost, step,
                                 fmt::format("GPU {} is slowed down by its temperature in {:.0f} % of the samples",
                                             throttle->device, throttle->share * 100));
  if (!evidence.has_timeline()) finding.lost_ns = 0;
  finding.evidence = {
      share_fact("throttled_share", "Samples in which it is slowed down", throttle->share),
      share_fact(
          "clock_loss",
          throttle->clock_known ? "SM clock below its highest" : "SM clock lost (assumed, as it was not sampled)",
          throttle->clock_loss),
  };
  finding.recommendations = {
      {AdviceKind::command, "See temperatures, fans and neighbours; air flow and inlet temperature come first.",
       "nvidia-smi -q -d TEMPERATURE,PERFORMANCE"},
      {AdviceKind::command, "Until it is fixed, a lower power limit gives steadier clocks.", "nvidia-smi -pl 500"},
  };
  finding.gain = shaped(1.0, 1 / (1 - throttle->share * throttle->clock_loss),
                        "work that scales with the SM clock, all of it at most");
  return {finding};
}

}  // namespace

constinit const Rule kThermalThrottleRule = {
    "thermal_throttle", "environment", "Is the GPU slowed down by heat?", Need::counters, apply, nullptr, {}};

}  // namespace warpmark::analyze
