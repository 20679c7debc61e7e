// Kernels with fewer blocks than the GPU has multiprocessors leave parts of it idle: a small batch. A note, never a
// warning: whether a larger batch is wanted is the user's decision.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostSeverity = 0.2;
constexpr double kLarger = 16;  // the batch that the gain is told for
// Of the multiprocessor time that a kernel's blocks occupy, what is really needed: blocks of small tiles are mostly
// latency. Told from five programs with batches 16 to 64 times as large, which it foretold within a factor of two.
constexpr double kReallyUsed = 0.4;
constexpr Calibration kPerSample = {1.0, 0.0, 0.33};

int multiprocessors(const RankEvidence& rank) {
  int count = 0;
  for (const GpuInfo& gpu : rank.timeline->gpus) count = std::max(count, gpu.sm_count);
  return count;
}

/// Share of the GPU that a kernel occupies; 1 if its shape is not known.
double occupied(const RankEvidence& rank, const GpuWork& work, int sms) {
  const EventColumns& events = rank.timeline->events;
  if (!is_compute(work.category) || events.kind[work.event] != EventKind::kernel) return 1;
  const LaunchShape& shape = rank.timeline->launch_shapes[events.detail[work.event]];
  const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  return blocks > 0 ? std::min(1.0, blocks / sms) : 1;
}

/// Samples a second with a batch `kLarger` times as large: the host does the same, the optimizer too, and a kernel
/// takes longer only once the GPU is full.
double foretell(const Evidence& evidence) {
  Change change(evidence);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    const int sms = std::max(1, multiprocessors(rank));
    open_columns(rank, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (!is_compute(work.category) || work.category == Category::optimizer) continue;
      const double grown = std::max(1.0, kLarger * kReallyUsed * occupied(rank, work, sms));
      change.ranks[r].duration_scale[i] = static_cast<float>(grown);
    }
  }
  return kLarger * speedup_of(evidence, change);
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const int sms = multiprocessors(rank);
  if (sms == 0) return {};
  double lost = 0;
  double small = 0;
  double kernels = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || !rank.in_steps(work)) continue;
    const double used = occupied(rank, work, sms);
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
       "batch_size *= 16  # or as far as memory allows"},
      {AdviceKind::measure, "See how much memory is left.",
       "nvidia-smi --query-gpu=memory.used,memory.total --format=csv"},
  };
  finding.gain = gain_around(foretell(evidence), kPerSample,
                             "replay with a batch 16 times as large, kernels growing once they fill the GPU");
  finding.gain.per_sample = true;
  return {finding};
}

}  // namespace

constinit const Rule kGpuUnderusedRule = {
    "gpu_underused", "kernel_efficiency", "Do kernels fill the GPU?", Need::gpu_work, apply, nullptr, {}};

}  // namespace warpmark::analyze
