// The GPU's memory is nearly full, or the allocator gives it back to the driver though much of it is not in use: what
// is left lies between tensors, in pieces too small for what is asked for ("fragmentation": PyTorch's CUDA semantics,
// section "Memory management"). A note: what it costs in time memory_allocation tells.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recorded/memory_curves.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr Advice kGrowSegments = {
    .kind = AdviceKind::environment,
    .text = "Let the allocator grow its segments, so that pieces join: fewer allocations fail.",
    .pytorch = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    .jax = "export XLA_PYTHON_CLIENT_ALLOCATOR=default XLA_PYTHON_CLIENT_PREALLOCATE=true",
    .cupy = "cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)",
};
constexpr Advice kUseLess = {
    .kind = AdviceKind::code,
    .text =
        "Hold less: free what the next step does not need, compute activations again in the backward pass, or take "
        "a smaller batch.",
    .pytorch = "y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    .jax = "block = jax.checkpoint(block)",
};

struct Worst {
  MemoryCurve curve;
  GivenBack back;
  double peak = 0;  ///< reserved, or allocated where that is not known
  [[nodiscard]] double full() const { return curve.capacity > 0 ? peak / curve.capacity : 0; }
  [[nodiscard]] double scattered() const { return back.reserved > 0 ? back.unused / back.reserved : 0; }
  [[nodiscard]] bool is_scattered() const {
    return 1 - scattered() <= kEffectiveUse && back.unused >= kMatters * curve.capacity;
  }
  [[nodiscard]] bool is_full() const { return full() >= kNearlyAll; }
};

std::optional<Worst> worst_of(const RankEvidence& rank) {
  std::optional<Worst> worst;
  for (MemoryCurve& curve : memory_curves_of(*rank.timeline, rank.list)) {
    const auto& held = curve.reserved.empty() ? curve.allocated : curve.reserved;
    const double peak = *std::ranges::max_element(held);
    Worst one{std::move(curve), {}, peak};
    one.back = given_back(one.curve);
    if ((one.is_scattered() || one.is_full()) && (!worst || one.peak > worst->peak)) worst = std::move(one);
  }
  return worst;
}

std::vector<Finding> apply_gpu_memory(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const auto worst = worst_of(rank);
  if (!worst) return {};
  const std::string title =
      worst->is_scattered()
          ? fmt::format("The allocator gave memory back {} times, with {} of {} reserved and not in use",
                        worst->back.times, format_bytes(worst->back.unused), format_bytes(worst->back.reserved))
          : fmt::format("The memory of GPU {} is nearly full: {} of {}", worst->curve.device, format_bytes(worst->peak),
                        format_bytes(worst->curve.capacity));
  Finding finding = make_finding(kGpuMemoryRule, 0, rank.undisturbed_step_ns(), title);
  const double share = worst->is_scattered() ? worst->scattered() : worst->full() - kNearlyAll + kWorthFixing;
  finding.severity = std::clamp(share, kWorthFixing, kMostOfANote);
  finding.evidence.push_back({"Most memory held: " + format_bytes(worst->peak), "memory_peak", worst->peak, "B"});
  if (worst->curve.capacity > 0) finding.evidence.push_back(share_fact("memory_share", "Of the GPU's", worst->full()));
  if (worst->back.times > 0) {
    finding.evidence.push_back(
        count_fact("given_back", "Times that memory was given back", static_cast<double>(worst->back.times)));
    finding.evidence.push_back(
        share_fact("fragmentation", "Reserved and not in use then, at most", worst->scattered()));
  }
  if (worst->is_scattered()) advise(evidence, {kGrowSegments}, finding);
  advise(evidence, {kUseLess}, finding);
  finding.gain = {1.0, 1.0, "memory, not time: what giving it back costs is memory_allocation's"};
  return {finding};
}

}  // namespace

constinit const Rule kGpuMemoryRule = {"gpu_memory", "memory_allocation", "Is the GPU's memory full, or scattered?",
                                       Need::gpu_work, apply_gpu_memory};

}  // namespace warpmark::analyze
