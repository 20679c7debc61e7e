// From NVML's clocks event reasons: share of the samples in which the GPU runs at its power limit, and the clock it
// loses.
#include "analyze/rules/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  const auto throttle = worst_throttle(evidence, kPowerReasons);
  if (!throttle) return {};
  Finding finding = throttle_finding(kPowerThrottleRule, evidence, *throttle, "runs at its power limit");
  finding.recommendations = {
      {AdviceKind::command, "Compare the limit with what the board allows, and raise it if the power supply permits.",
       "nvidia-smi -q -d POWER  # then: nvidia-smi -pl WATTS"},
      {AdviceKind::code, "Fewer bytes moved and 16-bit arithmetic draw less power for the same work.", ""},
  };
  const auto narrow = advice_for(evidence, {kComputeIn16Bits});
  if (!narrow.empty()) finding.recommendations.back().snippet = narrow.front().snippet;
  return {finding};
}

}  // namespace

constinit const Rule kPowerThrottleRule = {
    "power_throttle", "environment", "Is the GPU slowed down by its power limit?", Need::counters, apply, nullptr, {}};

}  // namespace warpmark::analyze
