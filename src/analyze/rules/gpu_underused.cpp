// Kernels with fewer blocks than the GPU has multiprocessors leave parts of it idle, and matrix kernels with narrow
// tiles read their weights for few rows: a small batch. A note, never a warning: whether a larger batch is wanted is
// the user's decision.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/cures/larger_batch.h"
#include "analyze/recorded/memory_curves.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostSeverity = 0.2;
// Eleven programs were given 16 to 128 times their batch, 50 times in the geometric mean.
constexpr int kMostTimes = 48;
constexpr Calibration kPerSample = {1.0, -0.04};  // of twelve programs

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

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const int sms = multiprocessors(rank);
  if (sms == 0) return {};
  double lost = 0;
  double small = 0;
  double kernels = 0;
  double narrow = 0;
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || !rank.in_steps(work)) continue;
    const double tile = tile_filled(rank, work);
    const double used = occupied(rank, work, sms) * tile;
    kernels += 1;
    small += used < 1;
    if (tile < 1) narrow += static_cast<double>(work.end - work.start);
    lost += static_cast<double>(work.end - work.start) * (1 - used);
  }
  lost /= rank.step_count();
  const double step = rank.undisturbed_step_ns();
  if (lost < 0.02 * step) return {};
  Finding finding =
      make_finding(kGpuUnderusedRule, lost, step,
                   "Small kernels leave " + format_percent(lost / step) + " of the GPU's multiprocessor time unused");
  finding.severity = std::min(finding.severity / 2, kMostSeverity);
  finding.evidence = {
      share_fact("unused_sm_time", "Multiprocessor time that small kernels leave unused", lost / step),
      share_fact("small_kernel_share", "Kernels with fewer blocks than multiprocessors, or narrow tiles",
                 small / std::max(1.0, kernels)),
      count_fact("multiprocessors", "Multiprocessors", sms),
  };
  if (narrow > 0) {
    finding.evidence.push_back(time_fact("narrow_tiles_per_step",
                                         "Matrix kernels with tiles narrower than 64 rows or columns, per step",
                                         narrow / rank.step_count()));
  }
  for (const MemoryCurve& curve : memory_curves_of(*rank.timeline, rank.list)) {  // how much larger it may become
    const auto& held = curve.reserved.empty() ? curve.allocated : curve.reserved;
    if (curve.capacity <= 0) continue;
    finding.evidence.push_back(share_fact("memory_share", "Of the GPU's memory is held at most",
                                          *std::ranges::max_element(held) / curve.capacity));
    break;
  }
  const LargerBatch larger = larger_batch(evidence, kMostTimes);
  finding.evidence.push_back(
      {larger.fills
           ? fmt::format("A batch {} times as large fills the GPU: beyond it, twice the batch gains less than a tenth",
                         larger.times)
           : fmt::format("A batch {} times as large does not fill the GPU yet", larger.times),
       "batch_that_fills", static_cast<double>(larger.times), ""});
  finding.recommendations = {
      {AdviceKind::config, rank.trains() ? kTrainLarger : kLarger,
       batch_snippet(evidence, larger.times, "or as far as memory allows")},
  };
  advise(evidence, {kSideBySide, kSeeMemory}, finding);
  finding.gain = gain_per_sample(
      larger, kPerSample,
      fmt::format("replay with a batch {} times as large, kernels growing once they fill the GPU", larger.times));
  return {finding};
}

}  // namespace

constinit const Rule kGpuUnderusedRule = {
    "gpu_underused", "kernel_efficiency", "Do kernels fill the GPU?", Need::gpu_work, apply, nullptr, {}};

}  // namespace warpmark::analyze
