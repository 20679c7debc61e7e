// The shares that are left are first principles, not fits to one model: a fused chain reads its inputs and writes its
// results once; tensor cores multiply 16-bit numbers 8 to 16 times faster than FP32 units; fused attention never writes
// the scores (Dao et al., "FlashAttention", NeurIPS 2022).
#include "analyze/kernel_blame.h"

#include <algorithm>
#include <set>

#include "analyze/attention_order.h"
#include "analyze/autocast.h"
#include "analyze/expanded_tensors.h"
#include "analyze/needless_copies.h"
#include "analyze/one_hot.h"
#include "analyze/operator_shapes.h"
#include "analyze/steps.h"
#include "analyze/streaming_kernels.h"
#include "analyze/xla_kernels.h"

namespace warpmark::analyze {

namespace {

// FP32 units to 16-bit tensor cores. H100: 67 to 989 TFLOP/s dense (NVIDIA H100 data sheet); products of useful size
// reach 0.8 of the first and 0.6 of the second, convolutions less as they move more bytes a FLOP.
constexpr float kSimtToTensor = 0.08F;
constexpr float kSimtConvolutionToTensor = 0.13F;
// Half the bytes, by kernels that reach more of the bandwidth: 0.3 in one program of FP32 decoding.
constexpr float kWideVector = 0.4F;
constexpr float kTf32ToHalf = 0.55F;        // already on tensor cores: half the bytes, twice the rate
constexpr float kDoubleToSingle = 0.14F;    // FP64 to TF32, both on tensor cores: 67 to 495 TFLOP/s (data sheet)
constexpr float kUnfusedOptimizer = 0.35F;  // a fused Adam moves 28 B a parameter, ten separate kernels about 100 B
constexpr float kForeachOptimizer = 0.6F;
constexpr float kGather = 0.35F;  // gathered rows used in place instead of written and read again
// ... and reduced as they are read. A gather is bound by its blocks, one a row (0.60 ns each in three programs), the
// reduction after it by the bytes of the rows in order: reading them out of order took 1.75 and 1.9 times as long.
constexpr double kReadOutOfOrder = 1.8;
constexpr float kScatteredGather = 0.12F;  // ... where atomics read and wrote the results once for every row
constexpr float kReducedScatter = 0.1F;
constexpr float kLayout = 0.1F;
constexpr double kChainPasses = 1.25;  // of the longest kernel: what a fused chain still has to move ...
constexpr double kChainRest = 0.03;    // ... and of the sum: its arithmetic, and results that others need
constexpr double kOwnPasses = 1.5;     // of own kernels: 1.05 and 2.1 in two programs, the second with a stencil
// In training a reduction ends a pass: the backward pass reads what was normalised, gradients are sums over the batch.
constexpr double kPassOfReduction = 0.6;  // of the longest kernel
// Without a backward pass a row's reduction ends no pass while the row fits into registers, but what is then reduced in
// the other direction is read again, by one pass for a maximum and a sum.
constexpr double kReductionAgain = 0.1;
constexpr float kFusedDispatch = 0.1F;  // one call instead of about ten
constexpr float kScoreProduct = 0.45F;  // the products themselves, which a fused kernel feeds from registers
constexpr int kWideningReach = 12;      // copies, scaling and casts of Q and K, and making the mask

struct ScoreShape {
  std::int64_t elements, rows, columns;
  auto operator<=>(const ScoreShape&) const = default;
};

class Blamer {
 public:
  Blamer(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps)
      : timeline_(timeline), list_(list), steps_(steps), shapes_(timeline.names.size()) {
    result_.owner.assign(list.works.size(), Owner::none);
    result_.keep.assign(list.works.size(), 1.0F);
    result_.narrow.assign(list.works.size(), 1.0F);
    result_.dispatch.assign(list.works.size(), 1.0F);
  }

  KernelBlame run() {
    optimizer();
    attention_by_shape();
    if (!result_.attention_by_shape) attention_by_order();
    attention_widened();
    attention_copies();
    one_hots();
    precision();
    memory();
    return std::move(result_);
  }

 private:
  std::string_view name(std::size_t i) const { return timeline_.name_of(list_.works[i].event); }

  void own(std::size_t i, Owner owner, float keep, float dispatch = 1.0F) {
    if (result_.owner[i] != Owner::none) return;
    result_.owner[i] = owner;
    result_.keep[i] = keep;
    result_.dispatch[i] = std::min(1.0F, dispatch);
  }

  const Shapes& shapes_of(EventIndex op) {
    static const Shapes kNone;
    if (op == kNoEvent || timeline_.events.kind[op] != EventKind::op) return kNone;
    const NameId id = timeline_.events.detail[op];
    if (id == 0 || id >= shapes_.size()) return kNone;
    if (shapes_[id].empty()) shapes_[id] = parse_shapes(timeline_.names.at(id));
    return shapes_[id];
  }

  /// Rows of a table that have no gradient need no update.
  void optimizer() {
    result_.tables = find_dense_tables(timeline_, list_, steps_);
    const DenseTables& tables = result_.tables;
    const auto needed = static_cast<float>(1 - tables.update_share * (1 - tables.touched));
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      if (work.category != Category::optimizer) continue;
      const bool fused = contains_any(name(i), {"fused"});
      const bool multi = is_multi_tensor(name(i));
      own(i, Owner::optimizer, needed * (fused ? 1.0F : multi ? kForeachOptimizer : kUnfusedOptimizer));
    }
    for (const std::size_t i : tables.fills) own(i, Owner::optimizer, 0.0F);
  }

  /// A tensor of scores is what a softmax reads, and a matrix product then too.
  void attention_by_shape() {
    std::set<ScoreShape> softmaxed;
    std::set<ScoreShape> multiplied;
    for (const GpuWork& work : list_.works) {
      if (work.category != Category::softmax && work.category != Category::gemm) continue;
      for (const auto& dims : shapes_of(work.op)) {
        if (dims.size() < 3 || dims[dims.size() - 1] < 16 || dims[dims.size() - 2] < 2) continue;
        const ScoreShape shape{elements_in(dims), dims[dims.size() - 2], dims[dims.size() - 1]};
        (work.category == Category::softmax ? softmaxed : multiplied).insert(shape);
      }
    }
    std::set<ScoreShape> scores;
    std::set_intersection(softmaxed.begin(), softmaxed.end(), multiplied.begin(), multiplied.end(),
                          std::inserter(scores, scores.end()));
    if (scores.empty()) return;
    result_.attention_by_shape = true;
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      if (work.category == Category::gemm) {
        if (touches(work.op, scores) || makes(work.op, scores)) own_scores(i);
      } else if ((is_compute(work.category) || work.category == Category::copy_on_device) &&
                 work.category != Category::convolution && work.category != Category::attention) {
        if (touches(work.op, scores)) own_scores(i);
      }
    }
  }

  /// A fused kernel multiplies in 16 bits and from registers, and does nothing else to the scores.
  void own_scores(std::size_t i) {
    const GpuWork& work = list_.works[i];
    if (work.category != Category::gemm) return own(i, Owner::attention, 0.0F, kFusedDispatch);
    own(i, Owner::attention, work.math == MatrixMath::simt_fp32 ? kSimtToTensor : kScoreProduct, 0.5F);
  }

  bool touches(EventIndex op, const std::set<ScoreShape>& scores) {
    for (const auto& dims : shapes_of(op)) {
      if (dims.size() < 3) continue;
      const std::int64_t a = dims[dims.size() - 2];
      const std::int64_t b = dims[dims.size() - 1];
      const std::int64_t elements = elements_in(dims);
      if (scores.contains({elements, a, b}) || scores.contains({elements, b, a})) return true;
    }
    return false;
  }

  /// A product of [.., m, k] and [.., k, n] whose result [.., m, n] is a tensor of scores.
  bool makes(EventIndex op, const std::set<ScoreShape>& scores) {
    const auto& shapes = shapes_of(op);
    for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
      if (shapes[i].size() < 3 || shapes[i + 1].size() < 3) continue;
      const std::int64_t rows = shapes[i][shapes[i].size() - 2];
      const std::int64_t columns = shapes[i + 1].back();
      const std::int64_t elements = elements_in(shapes[i]) / std::max<std::int64_t>(1, shapes[i].back()) * columns;
      if (scores.contains({elements, rows, columns})) return true;
    }
    return false;
  }

  void attention_by_order() {
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
        for (int n = 0; n < kWideningReach && next >= 0 && next < std::ssize(order); ++n, next += step) {
          const std::size_t i = order[static_cast<std::size_t>(next)];
          if (list_.works[i].category == Category::memset) continue;
          if (!is_elementwise(list_.works[i].category)) break;
          if (contains_any(name(i), {"copy", "aunaryfunctor", "fill", "triu_tril"})) own_scores(i);
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
    for (const OneHotWork& one :
         find_one_hots(timeline_, list_, [this](EventIndex op) -> const Shapes& { return shapes_of(op); })) {
      if (result_.owner[one.work] != Owner::none) continue;
      own(one.work, Owner::memory_bandwidth, one.left);
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
          own(i, Owner::precision, work.category == Category::convolution ? kSimtConvolutionToTensor : kSimtToTensor);
          break;
        case MatrixMath::vector_fp32:
          if (result_.network) own(i, Owner::precision, kWideVector);
          break;
        case MatrixMath::tensor_tf32: own(i, Owner::precision, kTf32ToHalf); break;
        case MatrixMath::simt_fp64: own(i, Owner::precision, kDoubleToSingle); break;
        default:
          if (!is_compute(work.category) || work.category == Category::gemm || work.category == Category::convolution)
            break;
          result_.narrow[i] = left_when_narrow(name(i), work.category, narrower);
      }
    }
  }

  void memory() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (result_.owner[i] != Owner::none || !is_layout_conversion(name(i))) continue;
      own(i, Owner::memory_bandwidth, kLayout);
      ++result_.layout_conversions;
    }
    const std::vector<std::size_t> order = works_of_main_stream(list_);
    streaming_ = find_streaming_kernels(timeline_, list_);
    gathers(order);
    std::vector<std::size_t> chain;
    const bool training = has_backward_pass(timeline_, list_);
    if (!training) appends();
    const std::vector<std::int64_t> borders = borders_of(steps_);
    auto border = borders.begin();
    for (const std::size_t i : order) {
      const Category category = list_.works[i].category;
      if (category == Category::memset) continue;
      for (; border != borders.end() && list_.works[i].start >= *border; ++border) close(chain, training);
      const bool passes = is_elementwise(category) || category == Category::reduction || streaming_[i] > 0;
      const bool links = passes && result_.owner[i] == Owner::none;
      if (links && !chain.empty() && are_apart(chain, i)) close(chain, training);
      links ? chain.push_back(i) : close(chain, training);
    }
    close(chain, training);
  }

  /// Kernels of the program's own have one index space, and each comes once: what is repeated is a loop, of which a
  /// round needs all of the one before.
  bool are_apart(const std::vector<std::size_t>& chain, std::size_t i) const {
    if (xla_fused_apart(timeline_, list_, chain.back(), i) || streaming_[chain.back()] != streaming_[i]) return true;
    return streaming_[i] > 0 && std::ranges::any_of(chain, [&](std::size_t j) { return name(j) == name(i); });
  }

  void appends() {
    for (const Append& one :
         find_appends(timeline_, list_, [this](EventIndex op) -> const Shapes& { return shapes_of(op); })) {
      if (result_.owner[one.work] != Owner::none) continue;
      own(one.work, Owner::memory_bandwidth, static_cast<float>(one.added));
      result_.appends.push_back(one.work);
    }
  }

  /// A gather whose rows the next kernels reduce or scatter is one pass with them. A framework's is an operator of its
  /// own, whatever reads its rows; what else a kernel of the program's own does that is called so is not known.
  void gathers(const std::vector<std::size_t>& order) {
    constexpr std::size_t kReach = 3;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::size_t i = order[at];
      if (list_.works[i].category != Category::gather || length(i) <= kBandwidthBoundNs) continue;
      bool writes_rows = list_.works[i].op != kNoEvent || is_of_framework(name(i));
      float keep = result_.owner[i] == Owner::memory_bandwidth ? result_.keep[i] : kGather;
      for (std::size_t next = at + 1; next < order.size() && next <= at + kReach; ++next) {
        const std::size_t j = order[next];
        const Category category = list_.works[j].category;
        if (category == Category::memset || length(j) <= kBandwidthBoundNs) continue;
        const bool reduces = category == Category::reduction && length(j) * 20 > length(i);
        const bool scatters = category == Category::gather && list_.works[j].op != list_.works[i].op &&
                              contains_any(timeline_.name_of(list_.works[j].event), {"add", "indexfunc", "scatter"});
        if (reduces) {
          const auto both = static_cast<double>(length(i) + length(j));
          keep = static_cast<float>(std::min(1.0, kReadOutOfOrder * static_cast<double>(length(j)) / both));
          own(j, Owner::memory_bandwidth, keep);
        } else if (scatters) {
          own(j, Owner::memory_bandwidth, kReducedScatter);
          keep = kScatteredGather;
        }
        writes_rows = writes_rows || reduces || scatters;
        if (reduces || scatters || !is_elementwise(category)) break;
      }
      result_.gathers += writes_rows;
      if (writes_rows) own(i, Owner::memory_bandwidth, keep);
    }
  }

  void close(std::vector<std::size_t>& chain, bool training) {
    drop_expanded(chain);
    std::int64_t sum = 0, longest = 0;
    std::ptrdiff_t reductions = 0;
    for (const std::size_t i : chain) {
      reductions += list_.works[i].category == Category::reduction;
      sum += length(i);
      longest = std::max(longest, length(i));
    }
    if (chain.size() >= 2 && sum > kBandwidthBoundNs * std::ssize(chain)) {
      const double passes = (streaming_[chain.front()] > 0 ? kOwnPasses : kChainPasses) +
                            (training ? kPassOfReduction : kReductionAgain) * static_cast<double>(reductions);
      const double fused = passes * static_cast<double>(longest) + kChainRest * static_cast<double>(sum);
      const auto keep = static_cast<float>(std::min(1.0, fused / static_cast<double>(sum)));
      for (const std::size_t i : chain)
        own(i, Owner::memory_bandwidth, keep, std::max(keep, 1.5F / static_cast<float>(chain.size())));
      ++result_.chains;
      result_.chain_kernels += std::ssize(chain);
    }
    chain.clear();
  }

  /// Takes the works out of the chain that are there for tensors that need not be written at all.
  void drop_expanded(std::vector<std::size_t>& chain) {
    if (chain.size() < 2) return;
    const std::vector<double> left = left_without_expanded(
        timeline_, list_, chain, [this](EventIndex op) -> const Shapes& { return shapes_of(op); });
    for (std::size_t at = 0; at < chain.size(); ++at) {
      if (left[at] < 1) own(chain[at], Owner::memory_bandwidth, static_cast<float>(left[at]));
    }
    const auto dropped = std::erase_if(chain, [this](std::size_t i) { return result_.owner[i] != Owner::none; });
    result_.chains += dropped > 0;
    result_.chain_kernels += static_cast<std::int64_t>(dropped);
  }

  std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  const Timeline& timeline_;
  const WorkList& list_;
  std::span<const StepSpan> steps_;
  std::vector<Shapes> shapes_;  // by NameId, parsed when needed
  std::vector<std::uint64_t> streaming_;
  KernelBlame result_;
};

}  // namespace

KernelBlame blame_kernels(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps) {
  return Blamer(timeline, list, steps).run();
}

}  // namespace warpmark::analyze
