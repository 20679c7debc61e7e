// The shares that are left are first principles, not fits to one model: a fused chain reads its inputs and writes its
// results once; tensor cores multiply 16-bit numbers 8 to 16 times faster than FP32 units; fused attention never writes
// the scores (Dao et al., "FlashAttention", NeurIPS 2022).
#include "analyze/needless/kernel_blame.h"

#include <algorithm>
#include <cstddef>

#include "analyze/names/kernel_names.h"
#include "analyze/needless/attention_order.h"
#include "analyze/needless/attention_shapes.h"
#include "analyze/needless/autocast.h"
#include "analyze/needless/fitted.h"
#include "analyze/needless/memory_passes.h"
#include "analyze/needless/needless_copies.h"
#include "analyze/needless/one_hot.h"
#include "analyze/needless/xla_kernels.h"
#include "analyze/recorded/steps.h"

namespace warpmark::analyze {

namespace {

class Blamer {
 public:
  Blamer(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps)
      : timeline_(timeline), list_(list), steps_(steps), shapes_(timeline) {
    result_.owner.assign(list.works.size(), Owner::none);
    result_.share_left.assign(list.works.size(), 1.0F);
    result_.share_left_in_16_bits.assign(list.works.size(), 1.0F);
    result_.dispatch_left.assign(list.works.size(), 1.0F);
  }

  KernelBlame run() {
    optimizer();
    attention();
    attention_widened();
    attention_copies();
    one_hots();
    precision();
    blame_memory_passes(timeline_, list_, steps_, shapes_, result_);
    return std::move(result_);
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }

  void optimizer() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      if (work.category != Category::optimizer) continue;
      const bool fused = is_fused_update(name(i));
      const bool multi = is_multi_tensor(name(i));
      result_.own(i, Owner::optimizer, fused ? 1.0F : multi ? kForeachOptimizer : kUnfusedOptimizer);
    }
  }

  /// A fused kernel multiplies in 16 bits and from registers, and does nothing else to the scores.
  void own_scores(std::size_t i) {
    const GpuWork& work = list_.works[i];
    if (work.category != Category::gemm) return result_.own(i, Owner::attention, 0.0F, kFusedDispatch);
    result_.own(i, Owner::attention, work.math == MatrixMath::simt_fp32 ? kSimtToTensor : kScoreProduct, 0.5F);
  }

  void attention() {
    const std::vector<std::size_t> by_shape = find_attention_by_shape(list_, shapes_);
    result_.attention_by_shape = !by_shape.empty();
    for (const std::size_t i : by_shape) own_scores(i);
    if (result_.attention_by_shape) return;
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    for (const std::size_t i : find_attention_by_order(timeline_, list_, order)) own_scores(i);
    for (const std::size_t i : find_xla_attention(timeline_, list_, order)) own_scores(i);
  }

  /// Attention in FP32 within a program of 16 bits first scales and widens what it multiplies, and narrows the result:
  /// passes that a fused kernel does in registers.
  void attention_widened() {
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    for (std::size_t at = 0; at < order.size(); ++at) {
      const GpuWork& work = list_.works[order[at]];
      if (result_.owner[order[at]] != Owner::attention || work.math != MatrixMath::simt_fp32) continue;
      for (const int step : {-1, +1}) {
        auto next = static_cast<std::ptrdiff_t>(at) + step;
        for (int n = 0; n < kReachOfAttention && next >= 0 && next < std::ssize(order); ++n, next += step) {
          const std::size_t i = order[static_cast<std::size_t>(next)];
          if (list_.works[i].category == Category::memset) continue;
          if (!is_elementwise(list_.works[i].category)) break;
          if (surrounds_attention(name(i))) own_scores(i);
        }
      }
    }
  }

  void attention_copies() {
    const std::vector<std::size_t> copies = find_copies_before_products(timeline_, list_, [this](std::size_t i) {
      return result_.owner[i] == Owner::attention && list_.works[i].category == Category::gemm;
    });
    for (const std::size_t i : copies) {
      result_.attention_copies += result_.owner[i] == Owner::none;
      own_scores(i);
    }
  }

  void one_hots() {
    for (const OneHotWork& one : find_one_hots(timeline_, list_, shapes_)) {
      if (result_.owner[one.work] != Owner::none) continue;
      result_.own(one.work, Owner::memory_bandwidth, one.left);
      result_.one_hots.push_back(one.work);
    }
  }

  void precision() {
    const float narrower = bytes_left_in_16_bits(timeline_, list_);
    result_.network = runs_a_network(timeline_, list_);
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      switch (work.math) {
        case MatrixMath::simt_fp32:
          result_.own(i, Owner::precision,
                      work.category == Category::convolution ? kSimtConvolutionToTensor : kSimtToTensor);
          break;
        case MatrixMath::vector_fp32:
          if (result_.network) result_.own(i, Owner::precision, kWideVector);
          break;
        case MatrixMath::tensor_tf32: result_.own(i, Owner::precision, kTf32ToHalf); break;
        case MatrixMath::simt_fp64: result_.own(i, Owner::precision, kDoubleToSingle); break;
        default:
          if (!is_compute(work.category) || work.category == Category::gemm || work.category == Category::convolution)
            break;
          result_.share_left_in_16_bits[i] = left_when_narrow(name(i), work.category, narrower);
      }
    }
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  RecordedShapes shapes_;
  KernelBlame result_;
};

}  // namespace

void KernelBlame::own(std::size_t work, Owner by, float left, float dispatch) {
  if (owner[work] != Owner::none) return;
  owner[work] = by;
  share_left[work] = left;
  dispatch_left[work] = std::min(1.0F, dispatch);
}

KernelBlame blame_kernels(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps) {
  return Blamer(timeline, list, steps).run();
}

}  // namespace warpmark::analyze
