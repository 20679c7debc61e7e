// From nvidia-smi alone: the GPU works at a clock far below the one that the driver allows (clocks.max.sm), and the
// file does not say why: a limit of power or heat, or clocks that somebody locked. Work that memory sets the pace of
// loses nothing by a slower clock: half of the loss is counted.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  std::vector<Finding> findings;
  double worst = 1 - kNearlyAll;  // of its clock any GPU loses some under load
  for (const CounterSeries* most : series_of(evidence, "sm_clock_max")) {
    const CounterSeries* clock = series_of(evidence, "sm_clock", most->device);
    const bool with_reasons = series_of(evidence, "throttle_reasons", most->device) != nullptr;
    const auto allowed = highest_of(*most);
    if (clock == nullptr || with_reasons || !allowed || !is_used(evidence, *clock)) continue;
    const auto used = in_use(evidence, *clock);
    if (!used || used->busy.value_or(0) < kEffectiveUse || 1 - used->mean / *allowed <= worst) continue;
    worst = 1 - used->mean / *allowed;
    const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
    Finding finding =
        make_finding(kLowClockRule, step * worst / 2, step,
                     fmt::format("GPU {} works at {:.0f} of {:.0f} MHz, for a reason that was not sampled",
                                 most->device, used->mean * 1e-6, *allowed * 1e-6));
    if (!evidence.has_timeline()) finding.lost_ns = 0;
    const bool usual = worst < 0.5;  // few GPUs reach that clock with all of their units
    if (usual) finding.severity = std::min(finding.severity, kMostOfANote);
    finding.evidence = {share_fact("clock_loss", "SM clock below the highest that is allowed", worst),
                        share_fact("gpu_utilization", "Time with a kernel on the GPU meanwhile", *used->busy)};
    finding.recommendations = {{AdviceKind::command,
                                "See what holds the clock down: limits of power and heat, or locked clocks (nvidia-smi "
                                "-rgc releases them).",
                                "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE"}};
    finding.gain = {.method = "which clock this work allows was not recorded", .unknown = true};
    findings = {std::move(finding)};
  }
  return findings;
}

}  // namespace

constinit const Rule kLowClockRule = {"low_clock", "environment", "Does the GPU reach its clock under load?",
                                      Need::counters, apply};

}  // namespace warpmark::analyze
