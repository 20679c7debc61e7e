// From NVML's clocks event reasons: share of the samples in which the GPU runs at its power limit, and the clock it
// loses. A GPU that computes all the time normally runs there, and work that memory sets the pace of loses nothing by a
// slower clock: half of what the multiprocessors' work loses is counted, unless somebody set the limit lower than the
// board was delivered with.
#include <fmt/format.h>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// A signal from outside of the board: no limit of its own.
Finding braked(const Evidence& evidence, const Throttle& brake) {
  Finding finding = throttle_finding(kPowerThrottleRule, evidence, brake,
                                     {"is slowed down from outside (hardware power brake)", 1.0});
  finding.recommendations = {
      {AdviceKind::command,
       "Check the power supply, its cables and the limit of the rack, which set the brake: the limit of the board "
       "(nvidia-smi -pl) changes nothing.",
       "nvidia-smi -q -d PERFORMANCE,POWER"}};
  return finding;
}

std::vector<Finding> apply_power_throttle(const Evidence& evidence) {
  const auto throttle = worst_throttle(evidence, kPowerReasons);
  if (!throttle) return {};
  const auto brake = worst_throttle(evidence, kPowerBrake);
  if (brake && brake->device == throttle->device && 2 * brake->share >= throttle->share)
    return {braked(evidence, *brake)};
  const auto limit = highest_of(evidence, "power_limit", throttle->device);
  const auto delivered = highest_of(evidence, "power_limit_default", throttle->device);
  const bool known = limit && delivered, lowered = known && *limit < kNearlyAll * *delivered;
  Finding finding =
      throttle_finding(kPowerThrottleRule, evidence, *throttle, {"runs at its power limit", lowered ? 1.0 : 0.5});
  if (known) {
    finding.evidence.push_back(
        {fmt::format("Power limit: {:.0f} W, as delivered {:.0f} W", *limit, *delivered), "power_limit", *limit, "W"});
  }
  if (!known || lowered) {
    finding.recommendations.push_back(
        {AdviceKind::command, "Compare the limit with what the board allows, and raise it if the power supply permits.",
         "nvidia-smi -q -d POWER  # then: nvidia-smi -pl WATTS"});
  }
  finding.recommendations.push_back(
      {AdviceKind::code, "Move fewer bytes and compute in 16 bits: both draw less power for the same work.", ""});
  const auto narrow = advice_for(evidence, {compute_in_16_bits(evidence)});
  if (!narrow.empty()) finding.recommendations.back().snippet = narrow.front().snippet;
  return {finding};
}

}  // namespace

constinit const Rule kPowerThrottleRule = {"power_throttle", "environment",
                                           "Is the GPU slowed down by its power limit?", Need::counters,
                                           apply_power_throttle};

}  // namespace warpmark::analyze
