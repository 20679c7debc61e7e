// The GPU runs dry because the host cannot dispatch work as fast as the GPU finishes it: many short kernels.
#include <fmt/format.h>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// Compiling removes Python and operators of what it fuses, but adds guards and calls of its own: 11 to 34 % of the step
// went away in four programs. A graph is one call: the replay without dispatch foretold it.
constexpr Calibration kCompiled = {0.25, 0.0, 0.26};
constexpr Calibration kGraph = {1.0, -0.07, 0.2};

struct Launches {
  double count = 0;
  double short_kernels = 0;
  double kernel_ns = 0;
};

Launches launches_in_steps(const RankEvidence& rank) {
  Launches sum;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work)) continue;
    sum.count += 1;
    sum.kernel_ns += static_cast<double>(work.end - work.start);
    sum.short_kernels += work.end - work.start < 10'000;
  }
  return sum;
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_host);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const Launches launches = launches_in_steps(rank);
  Finding finding = make_finding(
      kLaunchOverheadRule, lost, step,
      "The GPU waits " + ms_text(lost) + " a step (" + percent_text(lost / step) + ") for the host to launch work");
  finding.evidence = {
      time_fact("launch_idle_per_step", "GPU idle while the host dispatches, per step", lost),
      count_fact("launches_per_step", "Launches per step", launches.count / rank.step_count()),
      time_fact("mean_work_duration", "Mean duration of a kernel or copy",
                launches.kernel_ns / std::max(1.0, launches.count)),
      share_fact("short_kernel_share", "Shorter than 10 us", launches.short_kernels / std::max(1.0, launches.count)),
      time_fact("host_dispatch_per_step", "Host time to dispatch a step (recording costs taken off)",
                rank.replay.host_ns(HostCause::dispatch) + rank.replay.host_ns(HostCause::other) +
                    rank.replay.host_ns(HostCause::none) + rank.replay.host_ns(HostCause::optimizer)),
      time_fact("recording_cost_per_step", "Idle time that recording itself is estimated to cause, per step",
                rank.part_ns(Part::idle_profiler)),
  };
  const double limit = replayed(kLaunchOverheadRule, evidence, 1.0);
  finding.evidence.push_back(
      {fmt::format("With no dispatch at all (a CUDA graph of the whole step) about {:.1f} times faster", limit),
       "cuda_graph_limit", limit, ""});
  finding.recommendations = {
      {AdviceKind::code, "Compile the model: fewer, larger kernels and less Python between them.",
       "model = torch.compile(model)"},
      {AdviceKind::code, "With static shapes replay the step as a CUDA graph: one launch instead of hundreds.",
       "model = torch.compile(model, mode='reduce-overhead')", "cuda_graph",
       gain_around(limit, kGraph, "replay of the recorded steps without dispatch")},
      {AdviceKind::config, "Give every launch more to do: a larger batch, fused or foreach implementations.",
       "torch.optim.AdamW(params, fused=True)"},
  };
  show_idle(rank, {Part::idle_launch, Part::idle_host}, finding);
  return {finding};
}

void change(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) {
    for (const HostCause cause : {HostCause::dispatch, HostCause::other, HostCause::none}) {
      one.host_scale[static_cast<std::size_t>(cause)] *= 1 - success;
    }
  }
}

}  // namespace

constinit const Rule kLaunchOverheadRule = {
    "launch_overhead", "launch_overhead", "Does the GPU wait for launches?", Need::gpu_work, apply, change,
    kCompiled};

}  // namespace warpmark::analyze
