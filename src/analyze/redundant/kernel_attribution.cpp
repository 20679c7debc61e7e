// The shares that are left are first principles, not fits to one model: a fused chain reads its inputs and writes its
// results once; tensor cores multiply 16-bit numbers 8 to 16 times faster than FP32 units; fused attention never writes
// the scores (Dao et al., "FlashAttention", NeurIPS 2022).
#include "analyze/redundant/kernel_attribution.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analyze/names/kernel_names.h"
#include "analyze/names/words.h"
#include "analyze/recorded/work_list.h"
#include "analyze/redundant/xla_kernels.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

namespace {

// What is left of a chain when it is fused: one pass, as long as its longest kernel, and one more for each reduction in
// it, as what follows a reduction reads its input again. A gather that is fused with what reads its rows moves them
// once, not three times (read, write, read). A layout that is kept needs no conversion.

constexpr float kGatherOnce = 1.0F / 3;

class MemoryPasses {
 public:
  MemoryPasses(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
               KernelAttribution& attribution)
      : timeline_(timeline), list_(list), steps_(steps), result_(attribution) {}

  void run() {
    const NameSet converts(timeline_.names, is_layout_conversion);
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (result_.owner[i] != Owner::none || !converts.contains(timeline_.events.name[list_.works[i].event])) continue;
      result_.own(i, Owner::memory_bandwidth, 0);
      ++result_.layout_conversions;
    }
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    gathers(order);
    chains(order);
  }

 private:
  void chains(const std::vector<std::size_t>& order) {
    const std::vector<std::int64_t> borders = borders_of(steps_);
    auto border = borders.begin();
    std::vector<std::size_t> chain;
    for (const std::size_t i : order) {
      const Category category = list_.works[i].category;
      if (category == Category::memset) continue;
      for (; border != borders.end() && list_.works[i].start >= *border; ++border) close(chain);
      const bool passes = is_elementwise(category) || category == Category::reduction;
      const bool links = passes && result_.owner[i] == Owner::none;
      if (links && !chain.empty() && xla_fused_apart(timeline_, list_, chain.back(), i)) close(chain);
      links ? chain.push_back(i) : close(chain);
    }
    close(chain);
  }

  /// Rows that the next kernels reduce, scatter or pass over.
  void gathers(const std::vector<std::size_t>& order) {
    for (std::size_t at = 0; at + 1 < order.size(); ++at) {
      const std::size_t i = order[at], next = order[at + 1];
      if (list_.works[i].category != Category::gather || length(i) <= kLatencyNs) continue;
      const Category category = list_.works[next].category;
      const bool read = category == Category::reduction || category == Category::gather || is_elementwise(category);
      if (!read || result_.owner[i] != Owner::none) continue;
      result_.own(i, Owner::memory_bandwidth, kGatherOnce);
      if (category == Category::reduction) result_.own(next, Owner::memory_bandwidth, kGatherOnce);
      ++result_.gathers;
    }
  }

  void close(std::vector<std::size_t>& chain) {
    std::int64_t sum = 0, longest = 0, passes = 1;
    for (const std::size_t i : chain) {
      passes += list_.works[i].category == Category::reduction ? 1 : 0;
      sum += length(i);
      longest = std::max(longest, length(i));
    }
    if (chain.size() >= 2 && sum > kLatencyNs * std::ssize(chain) && passes * longest < sum) {
      const float left = static_cast<float>(passes * longest) / static_cast<float>(sum);
      for (const std::size_t i : chain)
        result_.own(i, Owner::memory_bandwidth, left, static_cast<float>(passes) / static_cast<float>(chain.size()));
      ++result_.chains;
      result_.chain_kernels += std::ssize(chain);
    }
    chain.clear();
  }

  [[nodiscard]] std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  KernelAttribution& result_;
};

/// Gives those that have no owner yet to memory_bandwidth.
void attribute_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                             KernelAttribution& attribution) {
  MemoryPasses(timeline, list, steps, attribution).run();
}

// Attention written out, told by the order of kernels where the shapes of operators were not recorded.

class Finder {
 public:
  Finder(const Timeline& timeline, const WorkList& list, std::span<const std::size_t> order)
      : timeline_(timeline), list_(list), order_(order) {}

  std::vector<std::size_t> run() const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const GpuWork& work = list_.works[order_[at]];
      if (work.category != Category::softmax || is_log_softmax(name(order_[at]))) continue;
      std::vector<std::size_t> run{order_[at]};
      if (reach_matrix(at, -1, run) && reach_matrix(at, +1, run) && products_move_scores(run))
        found.insert(found.end(), run.begin(), run.end());
    }
    return found;
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }
  std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  /// The products write or read all scores, of 2 bytes at least, as do the passes between them, which move no more than
  /// 16 bytes for each (three operands in FP32 and a result). Products of vectors, whose sums are scores (Velickovic et
  /// al., "Graph Attention Networks", ICLR 2018), are much shorter than these. A pass that is far slower than the
  /// softmax tells nothing. `run` begins with the softmax.
  bool products_move_scores(const std::vector<std::size_t>& run) const {
    constexpr std::int64_t kMostTimesAsLong = 8, kSlowPass = 2;
    std::int64_t pass = 0;
    for (const std::size_t i : run) pass = list_.works[i].category == Category::gemm ? pass : std::max(pass, length(i));
    pass = std::min(pass, kSlowPass * length(run.front()));
    return std::ranges::all_of(run, [&](std::size_t i) {
      return list_.works[i].category != Category::gemm || length(i) * kMostTimesAsLong >= pass;
    });
  }

  bool reach_matrix(std::size_t from, int step, std::vector<std::size_t>& run) const {
    const std::size_t softmax = order_[from];
    const bool backward = is_of_backward_pass(name(softmax));
    auto at = static_cast<std::ptrdiff_t>(from);
    while (true) {
      at += step;
      if (at < 0 || at >= std::ssize(order_)) return false;
      const std::size_t i = order_[static_cast<std::size_t>(at)];
      const GpuWork& work = list_.works[i];
      if (work.category == Category::memset) continue;
      if (work.category == Category::gemm) {
        if (work.math == MatrixMath::simt_fp64) return false;  // statistics, not attention
        run.push_back(i);
        if (backward) push_twin(at, step, run);
        return true;
      }
      const bool unnamed = work.category == Category::other && work.op == kNoEvent;  // a mask of the program's own
      if (!is_elementwise(work.category) && work.category != Category::reduction && !unnamed) return false;
      run.push_back(i);
    }
  }

  /// The backward pass has two products on either side: gradients of the scores and of V, of Q and of K.
  void push_twin(std::ptrdiff_t at, int step, std::vector<std::size_t>& run) const {
    const std::int64_t twin = length(run.back());
    for (at += step; at >= 0 && at < std::ssize(order_); at += step) {
      const std::size_t i = order_[static_cast<std::size_t>(at)];
      if (list_.works[i].category == Category::memset) continue;
      const bool alike = length(i) * 2 >= twin && length(i) <= twin * 2;
      if (list_.works[i].category == Category::gemm && alike) run.push_back(i);
      return;
    }
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const std::size_t> order_;
};

/// The kernels around each softmax, up to and with the matrix products on both sides of it: indices into
/// WorkList::works. `order`: works_of_main_stream().
std::vector<std::size_t> find_attention_by_order(const Timeline& timeline, const WorkList& list,
                                                 std::span<const std::size_t> order) {
  return Finder(timeline, list, order).run();
}

// 16 bits to TF32: half of the bytes, twice the rate.
constexpr float kHalfOfTheBytes = 0.5F;
// A fused Adam reads and writes 28 B a parameter, ten kernels of its formula about 100 B.
constexpr float kFusedUpdate = 0.28F;
// A fused attention is one call of about ten, and neither writes nor reads the scores (Dao et al., NeurIPS 2022): half
// of what the products around the softmax move.
constexpr float kFusedDispatch = 1 - static_cast<float>(kNearlyAll);

class Attributor {
 public:
  Attributor(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps)
      : timeline_(timeline), list_(list), steps_(steps) {
    result_.units = matrix_units_of(timeline, timeline.tracks[list.main_stream].device);
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
    result_.own(i, Owner::attention,
                work.math == MatrixMath::simt_fp32 ? result_.units.left_in_16_bits : kHalfOfTheBytes, kHalfOfTheBytes);
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
        case MatrixMath::simt_fp32: result_.own(i, Owner::precision, result_.units.left_in_16_bits); break;
        case MatrixMath::tensor_tf32: result_.own(i, Owner::precision, kHalfOfTheBytes); break;
        case MatrixMath::simt_fp64:
          result_.own(i, Owner::precision, std::min(result_.units.left_in_tf32, kHalfOfTheBytes));
          break;
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
