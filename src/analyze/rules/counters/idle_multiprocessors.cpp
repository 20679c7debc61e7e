// From sampled counters: the GPU has work, but few of its multiprocessors do. NVIDIA's DCGM documentation, "Profiling
// Metrics", SM Activity: 0.8 or more is needed for an effective use of the GPU, less than 0.5 likely tells of an
// ineffective one. Counters do not say why; where a timeline does, its rules stand before this note. Where they were
// not sampled, a kernel that runs all the time but neither moves a byte nor takes half of the power computes little.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kEffective = 0.5;

struct Idle {
  int device = -1;
  InUse active;  ///< mean share of the multiprocessors' time
};

std::optional<Idle> worst(const Evidence& evidence) {
  std::optional<Idle> found;
  for (const CounterSeries* series : series_of(evidence, "sm_active")) {
    const auto used = is_used(evidence, *series) ? in_use(evidence, *series) : std::nullopt;
    if (used && used->mean < (found ? found->active.mean : kEffective)) found = Idle{series->device, *used};
  }
  return found;
}

/// nvidia-smi manual, "Utilization": a kernel that waits for a flag or for other ranks counts as work, too.
std::vector<Finding> of_spinning(const Evidence& evidence) {
  for (const int device : sampled_devices(evidence)) {
    const auto of = [&](const char* id) { return mean_of(evidence, id, device); };
    const auto busy = of("gpu_utilization"), memory = of("memory_utilization"), power = of("power"),
               limit = of("power_limit");
    if (of("sm_active") || !busy || !memory || !power || !limit) continue;
    if (*busy < kEffectiveUse || *memory >= kMatters || 2 * *power >= *limit) continue;
    Finding finding = make_finding(
        kIdleMultiprocessorsRule, 0, 1,
        fmt::format("GPU {} runs kernels in {:.0f} % of the time, but they use no memory and {:.0f} of {:.0f} W",
                    device, *busy * 100, *power, *limit));
    finding.severity = kWarning;
    finding.evidence = {share_fact("gpu_utilization", "Time with a kernel on the GPU", *busy),
                        share_fact("memory_utilization", "Time in which memory is read or written", *memory),
                        share_fact("power_share", "Power, of its limit", *power / *limit)};
    finding.recommendations = {
        {AdviceKind::command, "See whether the program still makes progress, and where its host waits.", kPythonStacks},
        {AdviceKind::measure, "See which kernel it is: one that spins, waits for other ranks, or has few blocks.",
         "warpmark profile -- <command>"}};
    finding.gain = {.method = "which kernel runs was not recorded", .unknown = true};
    return {finding};
  }
  return {};
}

std::vector<Finding> apply_idle_multiprocessors(const Evidence& evidence) {
  const auto idle = worst(evidence);
  if (!idle) return evidence.has_timeline() ? std::vector<Finding>() : of_spinning(evidence);
  const bool alone = !evidence.has_timeline();
  const double active = idle->active.mean;
  Finding finding = counter_finding(kIdleMultiprocessorsRule, evidence, 1 - active,
                                    fmt::format("The multiprocessors of GPU {} are active in {:.0f} % of the time in "
                                                "which it is used",
                                                idle->device, active * 100));
  finding.severity = std::min(finding.severity, alone ? kCritical : kMostOfANote);
  finding.lost_ns = 0;  // time is not lost where others computed meanwhile: no step tells
  finding.evidence = {
      share_fact("sm_active", "Multiprocessors with a warp, over the samples with work", active),
      share_fact("in_use", "The GPU has work, in these samples", idle->active.busy.value_or(1)),
      share_fact("effective_from", "Effective use begins at (DCGM)", kEffective),
  };
  finding.recommendations = {
      {AdviceKind::measure, "See what the GPU waits for and how large its kernels are.",
       "warpmark profile -- <command>"},
      {AdviceKind::config, "Give each launch more to do: a larger batch, as far as memory and latency allow.", ""},
  };
  if (!alone) finding.recommendations.erase(finding.recommendations.begin());
  finding.gain = at_most(amdahl(1 - active, 1),
                         "multiprocessors active all the time, at most; what keeps them idle is not in counters");
  return {finding};
}

}  // namespace

constinit const Rule kIdleMultiprocessorsRule = {"idle_multiprocessors", "kernel_efficiency",
                                                 "Are the multiprocessors active while the GPU is used?",
                                                 Need::counters, apply_idle_multiprocessors};

}  // namespace warpmark::analyze
