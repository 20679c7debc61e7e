// From NVML's clocks event reasons: share of the samples in which the GPU is slowed down by its temperature, and the
// clock it loses.
#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply_thermal_throttle(const Evidence& evidence) {
  const auto throttle = worst_throttle(evidence, kThermalReasons);
  if (!throttle) return {};
  Finding finding = throttle_finding(kThermalThrottleRule, evidence, *throttle, {"is slowed down by its temperature"});
  finding.recommendations = {
      {AdviceKind::command, "See temperatures, fans and neighbours; air flow and inlet temperature come first.",
       "nvidia-smi -q -d TEMPERATURE,PERFORMANCE"},
      {AdviceKind::command, "Until it is fixed, a lower power limit gives steadier clocks.",
       "nvidia-smi -pl WATTS  # below the present limit: nvidia-smi -q -d POWER"},
  };
  return {finding};
}

}  // namespace

constinit const Rule kThermalThrottleRule = {"thermal_throttle", "environment", "Is the GPU slowed down by heat?",
                                             Need::counters, apply_thermal_throttle};

}  // namespace warpmark::analyze
