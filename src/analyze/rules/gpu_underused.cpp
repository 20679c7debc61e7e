// Kernels with fewer blocks than the GPU has multiprocessors leave parts of it idle, and matrix kernels with narrow
// tiles read their weights for few rows: a small batch. Of a framework or a library a note, never a warning: whether a
// larger batch is wanted is the user's decision. A kernel of the program's own has as many blocks as its author chose.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/evidence/severity.h"
#include "analyze/names/kernel_category.h"
#include "analyze/names/kernel_names.h"
#include "analyze/recorded/memory_curves.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// Eleven programs were given 16 to 128 times their batch, 50 times in the geometric mean.
constexpr const char* kTrainLarger =
    "Raise the batch size as far as memory allows, and scale the learning rate with it.";
constexpr const char* kLarger = "Give each launch more to do: a larger batch, as far as memory and latency allow.";
constexpr Advice kSideBySide = {
    .kind = AdviceKind::code,
    .text = "Or let independent kernels run side by side, on streams of their own.",
    .native = "cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking);",
};
constexpr const char* kMemory = "nvidia-smi --query-gpu=memory.used,memory.total --format=csv";
constexpr Advice kSeeMemory = {
    .kind = AdviceKind::measure,
    .text = "See how much memory is left.",
    .native = kMemory,
    .pytorch = kMemory,
    .jax = kMemory,
};

/// Share of the multiprocessors that its blocks occupy, 0..1.
double occupied(const RankEvidence& rank, const GpuWork& work, int sms) {
  const EventColumns& events = rank.timeline->events;
  if (events.kind[work.event] != EventKind::kernel) return 1;
  const LaunchShape& shape = rank.timeline->launch_shapes[events.detail[work.event]];
  const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  return blocks <= 0 ? 1 : std::min(1.0, blocks / sms);
}

/// A kernel that its author launches with as many blocks as he chose: of no framework and no library.
bool is_of_program(const RankEvidence& rank, const GpuWork& work) {
  const std::string_view kernel = rank.timeline->name_of(work.event);
  return work.op == kNoEvent && !is_of_library(kernel) && !is_xla_fusion(kernel);
}

int multiprocessors(const RankEvidence& rank) {
  int count = 0;
  for (const GpuInfo& gpu : rank.timeline->gpus) count = std::max(count, gpu.sm_count);
  return count;
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const int sms = multiprocessors(rank);
  if (sms == 0) return {};
  double lost = 0, lost_by_own = 0, small = 0, kernels = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || !rank.in_steps(work)) continue;
    const double used = occupied(rank, work, sms);
    kernels += 1;
    small += used < 1;
    const double unused = static_cast<double>(work.end - work.start) * (1 - used) / rank.step_count();
    lost += unused;
    if (is_of_program(rank, work)) lost_by_own += unused;
  }
  const double step = rank.undisturbed_step_ns();
  if (lost < kMatters * step) return {};
  Finding finding =
      make_finding(kGpuUnderusedRule, lost, step,
                   "Small kernels leave " + format_percent(lost / step) + " of the GPU's multiprocessor time unused");
  finding.severity = std::max(std::min(finding.severity / 2, kMostOfANote), severity_of(lost_by_own, step) / 2);
  finding.evidence = {
      share_fact("unused_sm_time", "Multiprocessor time that small kernels leave unused", lost / step),
      share_fact("small_kernel_share", "Kernels with fewer blocks than multiprocessors",
                 small / std::max(1.0, kernels)),
      count_fact("multiprocessors", "Multiprocessors", sms),
  };
  for (const MemoryCurve& curve : memory_curves_of(*rank.timeline, rank.list)) {  // how much larger it may become
    const auto& held = curve.reserved.empty() ? curve.allocated : curve.reserved;
    if (curve.capacity <= 0) continue;
    finding.evidence.push_back(share_fact("memory_share", "Of the GPU's memory is held at most",
                                          *std::ranges::max_element(held) / curve.capacity));
    break;
  }
  finding.recommendations = {{AdviceKind::config, rank.trains() ? kTrainLarger : kLarger,
                              batch_snippet(evidence, 2, "then again, as far as memory allows")}};
  advise(evidence, {kSideBySide, kSeeMemory}, finding);
  finding.gain = at_most(step / std::max(step - lost, 1.0), "multiprocessors that idle now do as much as the others");
  finding.gain.per_sample = true;
  return {finding};
}

}  // namespace

constinit const Rule kGpuUnderusedRule = {"gpu_underused", "kernel_efficiency", "Do kernels fill the GPU?",
                                          Need::gpu_work, apply};

}  // namespace warpmark::analyze
