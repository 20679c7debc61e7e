// Kernels with fewer blocks than the GPU has multiprocessors leave parts of it idle: a small batch. A note, never a
// warning: whether a larger batch is wanted is the user's decision.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostSeverity = 0.2;

int multiprocessors(const RankEvidence& rank) {
  int count = 0;
  for (const GpuInfo& gpu : rank.timeline->gpus) count = std::max(count, gpu.sm_count);
  return count;
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const int sms = multiprocessors(rank);
  if (sms == 0) return {};
  double lost = 0;
  double small = 0;
  double kernels = 0;
  const EventColumns& events = rank.timeline->events;
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || events.kind[work.event] != EventKind::kernel || !rank.in_steps(work)) continue;
    const LaunchShape& shape = rank.timeline->launch_shapes[events.detail[work.event]];
    const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
    if (blocks <= 0) continue;
    const double used = std::min(1.0, blocks / sms);
    kernels += 1;
    small += used < 1;
    lost += static_cast<double>(work.end - work.start) * (1 - used);
  }
  lost /= rank.step_count();
  const double step = rank.undisturbed_step_ns();
  if (lost < 0.02 * step) return {};
  Finding finding =
      make_finding(kGpuUnderusedRule, lost, step,
                   "Small kernels leave " + percent_text(lost / step) + " of the GPU's multiprocessor time unused");
  finding.severity = std::min(finding.severity / 2, kMostSeverity);
  finding.evidence = {
      share_fact("unused_sm_time", "Multiprocessor time that kernels with too few blocks leave unused", lost / step),
      share_fact("small_kernel_share", "Kernels with fewer blocks than multiprocessors",
                 small / std::max(1.0, kernels)),
      count_fact("multiprocessors", "Multiprocessors", sms),
  };
  finding.recommendations = {
      {AdviceKind::config, "Raise the batch size as far as memory allows, and scale the learning rate with it.",
       "batch_size *= 2"},
      {AdviceKind::measure, "See how much memory is left.",
       "nvidia-smi --query-gpu=memory.used,memory.total --format=csv"},
  };
  finding.gain =
      shaped(1.0, step / std::max(step - lost, 0.1 * step), "samples a second, if small kernels filled the GPU");
  return {finding};
}

}  // namespace

constinit const Rule kGpuUnderusedRule = {
    "gpu_underused", "kernel_efficiency", "Do kernels fill the GPU?", Need::gpu_work, apply, nullptr, {}};

}  // namespace warpmark::analyze
