// The shares that are left are first principles, not fits to one model: a fused chain reads its inputs and writes its
// results once; tensor cores multiply 16-bit numbers 8 to 16 times faster than FP32 units; fused attention never writes
// the scores (Dao et al., "FlashAttention", NeurIPS 2022).
#include "analyze/redundant/kernel_attribution.h"

#include <algorithm>
#include <cstddef>

#include "analyze/names/kernel_names.h"
#include "analyze/names/words.h"
#include "analyze/redundant/attention_order.h"
#include "analyze/redundant/memory_passes.h"
#include "analyze/redundant/xla_kernels.h"

namespace warpmark::analyze {

namespace {

// 16 bits to TF32: half of the bytes, twice the rate.
constexpr float kHalfOfTheBytes = 0.5F;
constexpr float kSimtToTensor = kSimtToTf32 * kHalfOfTheBytes;
// A fused Adam reads and writes 28 B a parameter, ten kernels of its formula about 100 B.
constexpr float kFusedUpdate = 0.28F;
// A fused attention is one call of about ten, and neither writes nor reads the scores (Dao et al., NeurIPS 2022): half
// of what the products around the softmax move.
constexpr float kFusedDispatch = 1 - static_cast<float>(kNearlyAll);

class Attributor {
 public:
  Attributor(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps)
      : timeline_(timeline), list_(list), steps_(steps) {
    result_.owner.assign(list.works.size(), Owner::none);
    result_.share_left.assign(list.works.size(), 1.0F);
    result_.share_left_in_16_bits.assign(list.works.size(), 1.0F);
    result_.dispatch_left.assign(list.works.size(), 1.0F);
  }

  KernelAttribution run() {
    optimizer();
    attention();
    precision();
    attribute_memory_passes(timeline_, list_, steps_, result_);
    return std::move(result_);
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }

  void optimizer() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      if (work.category != Category::optimizer) continue;
      result_.own(i, Owner::optimizer, is_fused_update(name(i)) ? 1.0F : kFusedUpdate);
    }
  }

  /// A fused kernel multiplies in 16 bits and from registers, and does nothing else to the scores.
  void own_scores(std::size_t i) {
    const GpuWork& work = list_.works[i];
    if (work.category != Category::gemm) return result_.own(i, Owner::attention, 0.0F, kFusedDispatch);
    result_.own(i, Owner::attention, work.math == MatrixMath::simt_fp32 ? kSimtToTensor : kHalfOfTheBytes,
                kHalfOfTheBytes);
  }

  void attention() {
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    for (const std::size_t i : find_attention_by_order(timeline_, list_, order)) own_scores(i);
    for (const std::size_t i : find_xla_attention(timeline_, list_, order)) own_scores(i);
  }

  /// Kernels of a network that multiply nothing move half of the bytes in 16 bits, where convolutions, or products in
  /// doubles, set the type of what is around them (PyTorch, "Automatic Mixed Precision package": normalisations,
  /// softmax and losses stay in FP32 else).
  void precision() {
    std::int64_t convolutions = 0, products = 0, doubles = 0;
    for (const GpuWork& work : list_.works) {
      if (work.math == MatrixMath::simt_fp64) doubles += work.end - work.start;
      if (work.category == Category::convolution) convolutions += work.end - work.start;
      if (work.category == Category::gemm) products += work.end - work.start;
    }
    const NameSet narrow(timeline_.names, works_on_16_bits);
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      switch (work.math) {
        case MatrixMath::simt_fp32: result_.own(i, Owner::precision, kSimtToTensor); break;
        case MatrixMath::tensor_tf32: result_.own(i, Owner::precision, kHalfOfTheBytes); break;
        case MatrixMath::simt_fp64: result_.own(i, Owner::precision, kSimtToTf32); break;
        default: {
          const bool follows = (convolutions > products || doubles > (convolutions + products) / 2) &&
                               is_compute(work.category) && !narrow.contains(timeline_.events.name[work.event]) &&
                               work.category != Category::gemm && work.category != Category::convolution &&
                               work.category != Category::optimizer;
          if (follows) result_.share_left_in_16_bits[i] = kHalfOfTheBytes;
        }
      }
    }
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  KernelAttribution result_;
};

}  // namespace

void KernelAttribution::own(std::size_t work, Owner by, float left, float dispatch) {
  if (owner[work] != Owner::none) return;
  owner[work] = by;
  share_left[work] = left;
  dispatch_left[work] = std::min(1.0F, dispatch);
}

KernelAttribution attribute_kernels(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps) {
  return Attributor(timeline, list, steps).run();
}

}  // namespace warpmark::analyze
