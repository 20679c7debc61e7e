// From NVML's clocks event reasons: share of the samples in which the GPU runs at its power limit, and the clock it
// loses.
#include <fmt/format.h>

#include "analyze/rules/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  const auto throttle = worst_throttle(evidence, kPowerReasons);
  if (!throttle) return {};
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  const double lost = step * throttle->share * throttle->clock_loss;
  Finding finding = make_finding(kPowerThrottleRule, lost, step,
                                 fmt::format("GPU {} runs at its power limit in {:.0f} % of the samples",
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
      {AdviceKind::command, "Compare the limit with what the board allows, and raise it if the power supply permits.",
       "nvidia-smi -q -d POWER && nvidia-smi -pl <watts>"},
      {AdviceKind::config, "Fewer bytes moved and 16-bit arithmetic draw less power for the same work.",
       "dtype: bfloat16"},
  };
  finding.gain = shaped(1.0, 1 / (1 - throttle->share * throttle->clock_loss),
                        "work that scales with the SM clock, all of it at most");
  return {finding};
}

}  // namespace

constinit const Rule kPowerThrottleRule = {
    "power_throttle", "environment", "Is the GPU slowed down by its power limit?", Need::counters, apply, nullptr, {}};

}  // namespace warpmark::analyze
