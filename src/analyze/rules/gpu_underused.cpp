// Kernels with fewer blocks than the GPU has multiprocessors leave parts of it idle: a small batch. Of a framework or a
// library a note, never a warning: whether a larger batch is wanted is the user's decision. A kernel of the program's
// own has as many blocks as its author chose.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

struct Unused {
  double ns = 0;         ///< a step, of the time in which kernels compute
  double by_own_ns = 0;  ///< of it while kernels of the program's own run alone
  double small = 0;      ///< kernels with fewer blocks than multiprocessors ...
  double kernels = 0;    ///< ... of these
};

/// Kernels that run side by side, collectives too, fill the GPU together.
Unused unused_of(const RankEvidence& rank, int sms) {
  struct Edge {
    std::int64_t at;
    double occupies;  ///< negative where a kernel ends
    int computes;
    int of_library;
  };
  std::vector<Edge> edges;
  Unused unused;
  for (const GpuWork& work : rank.list.works) {
    if (is_copy(work.category) || !rank.in_steps(work)) continue;
    const double used = occupied(rank, work, sms);
    const int computes = is_compute(work.category) ? 1 : 0, of_library = is_of_program(rank, work) ? 0 : 1;
    edges.push_back({work.start, used, computes, of_library});
    edges.push_back({work.end, -used, -computes, -of_library});
    unused.kernels += computes;
    unused.small += computes * (used < 1);
  }
  std::ranges::sort(edges, {}, &Edge::at);
  double occupied = 0;
  int computing = 0, of_library = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    occupied += edges[i].occupies;
    computing += edges[i].computes;
    of_library += edges[i].of_library;
    if (computing == 0) continue;
    const double ns = std::max(0.0, 1 - occupied) * static_cast<double>(edges[i + 1].at - edges[i].at);
    unused.ns += ns / rank.step_count();
    if (of_library == 0) unused.by_own_ns += ns / rank.step_count();
  }
  return unused;
}

int multiprocessors(const RankEvidence& rank) {
  int count = 0;
  for (const GpuInfo& gpu : rank.timeline->gpus) count = std::max(count, gpu.sm_count);
  return count;
}

std::vector<Finding> apply_gpu_underused(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const int sms = multiprocessors(rank);
  if (sms == 0) return {};
  const Unused unused = unused_of(rank, sms);
  const double lost = unused.ns;
  const double step = rank.undisturbed_step_ns();
  if (lost < kMatters * step) return {};
  Finding finding = make_finding(
      kGpuUnderusedRule, lost, step,
      "Kernels with few blocks leave " + format_percent(lost / step) + " of the GPU's multiprocessor time unused");
  finding.severity = std::max(std::min(finding.severity / 2, kMostOfANote), severity_of(unused.by_own_ns, step) / 2);
  finding.evidence = {
      share_fact("unused_sm_time", "Multiprocessor time that kernels with few blocks leave unused", lost / step),
      share_fact("small_kernel_share", "Kernels with fewer blocks than multiprocessors",
                 unused.small / std::max(1.0, unused.kernels)),
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
                                          Need::gpu_work, apply_gpu_underused};

}  // namespace warpmark::analyze
