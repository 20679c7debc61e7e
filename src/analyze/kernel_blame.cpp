// The shares that are left are first principles, not fits to one model: a fused chain reads its inputs and writes its
// results once; tensor cores multiply 16-bit numbers 8 to 16 times faster than FP32 units; fused attention never writes
// the scores (Dao et al., "FlashAttention", NeurIPS 2022).
#include "analyze/kernel_blame.h"

#include <algorithm>
#include <set>

namespace warpmark::analyze {

namespace {

constexpr float kSimtToTensor = 0.12F;      // FP32 units to 16-bit tensor cores, GEMMs of useful size
constexpr float kTf32ToHalf = 0.55F;        // already on tensor cores: half the bytes, twice the rate
constexpr float kDoubleToSingle = 0.2F;     // to TF32 or 16 bits; FP32 units alone give half
constexpr float kWideElementwise = 0.55F;   // half the bytes
constexpr float kUnfusedOptimizer = 0.35F;  // a fused Adam moves 28 B a parameter, ten separate kernels about 100 B
constexpr float kForeachOptimizer = 0.6F;
constexpr float kGather = 0.35F;  // gathered rows reduced or used in place instead of written and read again
constexpr float kLayout = 0.1F;
constexpr double kChainPasses = 1.25;  // of the longest kernel: what a fused chain still has to move ...
constexpr double kChainRest = 0.06;    // ... and of the sum: results that others need, and chains cut by the fuser
constexpr std::int64_t kBandwidthBoundNs = 4'000;  // shorter kernels are bound by latency, not by memory
constexpr float kFusedDispatch = 0.1F;             // one call instead of about ten
constexpr float kScoreProduct = 0.45F;             // the products themselves, which a fused kernel feeds from registers
constexpr int kAttentionReach = 10;

struct ScoreShape {
  std::int64_t elements;
  std::int64_t rows;
  std::int64_t columns;
  auto operator<=>(const ScoreShape&) const = default;
};

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t elements = 1;
  for (const std::int64_t one : dims) elements *= std::max<std::int64_t>(one, 1);
  return elements;
}

bool is_matrix(Category category) { return category == Category::gemm || category == Category::convolution; }

class Blamer {
 public:
  Blamer(const Timeline& timeline, const WorkList& list)
      : timeline_(timeline), list_(list), shapes_(timeline.names.size()) {
    result_.owner.assign(list.works.size(), Owner::none);
    result_.keep.assign(list.works.size(), 1.0F);
    result_.narrow.assign(list.works.size(), 1.0F);
    result_.dispatch.assign(list.works.size(), 1.0F);
  }

  KernelBlame run() {
    optimizer();
    attention_by_shape();
    if (!result_.attention_by_shape) attention_by_order();
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

  const std::vector<std::vector<std::int64_t>>& shapes_of(EventIndex op) {
    static const std::vector<std::vector<std::int64_t>> kNone;
    if (op == kNoEvent || timeline_.events.kind[op] != EventKind::op) return kNone;
    const NameId id = timeline_.events.detail[op];
    if (id == 0 || id >= shapes_.size()) return kNone;
    if (shapes_[id].empty()) shapes_[id] = parse_shapes(timeline_.names.at(id));
    return shapes_[id];
  }

  void optimizer() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      if (work.category != Category::optimizer) continue;
      const bool fused = contains_any(name(i), {"fused"});
      const bool multi = is_multi_tensor(name(i));
      own(i, Owner::optimizer, fused ? 1.0F : multi ? kForeachOptimizer : kUnfusedOptimizer);
    }
  }

  /// A tensor of scores is what a softmax reads, and a matrix product then too.
  void attention_by_shape() {
    std::set<ScoreShape> softmaxed;
    std::set<ScoreShape> multiplied;
    for (const GpuWork& work : list_.works) {
      if (work.category != Category::softmax && work.category != Category::gemm) continue;
      for (const auto& dims : shapes_of(work.op)) {
        if (dims.size() < 3 || dims[dims.size() - 1] < 16 || dims[dims.size() - 2] < 2) continue;
        const ScoreShape shape{product(dims), dims[dims.size() - 2], dims[dims.size() - 1]};
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
      } else if (is_compute(work.category) && work.category != Category::convolution &&
                 work.category != Category::attention) {
        if (touches(work.op, scores)) own_scores(i);
      }
    }
  }

  /// A fused kernel multiplies in 16 bits and from registers, and does nothing else to the scores.
  void own_scores(std::size_t i) {
    const GpuWork& work = list_.works[i];
    if (work.category != Category::gemm) return own(i, Owner::attention, 0.0F, kFusedDispatch);
    const bool wide = work.math == MatrixMath::simt_fp32 || work.math == MatrixMath::simt_fp64;
    own(i, Owner::attention, wide ? kSimtToTensor : kScoreProduct, 0.5F);
  }

  bool touches(EventIndex op, const std::set<ScoreShape>& scores) {
    for (const auto& dims : shapes_of(op)) {
      if (dims.size() < 3) continue;
      const std::int64_t a = dims[dims.size() - 2];
      const std::int64_t b = dims[dims.size() - 1];
      const std::int64_t elements = product(dims);
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
      const std::int64_t elements = product(shapes[i]) / std::max<std::int64_t>(1, shapes[i].back()) * columns;
      if (scores.contains({elements, rows, columns})) return true;
    }
    return false;
  }

  /// Without shapes: the kernels around a softmax, up to the matrix products on both sides of it.
  void attention_by_order() {
    const std::vector<std::size_t> order = main_stream();
    for (std::size_t at = 0; at < order.size(); ++at) {
      const GpuWork& work = list_.works[order[at]];
      if (work.category != Category::softmax || contains_any(name(order[at]), {"logsoftmax", "log_softmax"})) continue;
      std::vector<std::size_t> run{order[at]};
      if (reach_matrix(order, at, -1, work.end - work.start, run) &&
          reach_matrix(order, at, +1, work.end - work.start, run)) {
        for (const std::size_t i : run) own_scores(i);
      }
    }
  }

  bool reach_matrix(const std::vector<std::size_t>& order, std::size_t from, int step, std::int64_t softmax_ns,
                    std::vector<std::size_t>& run) const {
    auto at = static_cast<std::ptrdiff_t>(from);
    for (int n = 0; n < kAttentionReach; ++n) {
      at += step;
      if (at < 0 || at >= std::ssize(order)) return false;
      const std::size_t i = order[static_cast<std::size_t>(at)];
      const GpuWork& work = list_.works[i];
      if (work.category == Category::memset) continue;
      if (work.category == Category::gemm) {
        run.push_back(i);
        return true;
      }
      if (work.category != Category::elementwise && work.category != Category::reduction) return false;
      if ((work.end - work.start) * 4 >= softmax_ns) run.push_back(i);
    }
    return false;
  }

  void precision() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const GpuWork& work = list_.works[i];
      switch (work.math) {
        case MatrixMath::simt_fp32: own(i, Owner::precision, kSimtToTensor); break;
        case MatrixMath::tensor_tf32: own(i, Owner::precision, kTf32ToHalf); break;
        case MatrixMath::simt_fp64: own(i, Owner::precision, kDoubleToSingle); break;
        default:
          if (is_compute(work.category) && !is_matrix(work.category) && work.category != Category::optimizer) {
            const bool half = contains_any(name(i), {"bfloat16", "half", "bf16", "fp16", "f16"});
            result_.narrow[i] = half ? 1.0F : kWideElementwise;
          }
      }
    }
  }

  void memory() {
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (result_.owner[i] != Owner::none) continue;
      if (is_layout_conversion(name(i))) {
        own(i, Owner::memory_bandwidth, kLayout);
        ++result_.layout_conversions;
      } else if (list_.works[i].category == Category::gather && length(i) > kBandwidthBoundNs) {
        own(i, Owner::memory_bandwidth, kGather);
        ++result_.gathers;
      }
    }
    std::vector<std::size_t> chain;
    for (const std::size_t i : main_stream()) {
      const Category category = list_.works[i].category;
      if (category == Category::memset) continue;
      const bool links =
          (category == Category::elementwise || category == Category::reduction) && result_.owner[i] == Owner::none;
      if (links) {
        chain.push_back(i);
      } else {
        close(chain);
      }
    }
    close(chain);
  }

  void close(std::vector<std::size_t>& chain) {
    std::int64_t sum = 0;
    std::int64_t longest = 0;
    for (const std::size_t i : chain) {
      sum += length(i);
      longest = std::max(longest, length(i));
    }
    if (chain.size() >= 2 && sum > kBandwidthBoundNs * std::ssize(chain)) {
      const double fused = kChainPasses * static_cast<double>(longest) + kChainRest * static_cast<double>(sum);
      const auto keep = static_cast<float>(std::min(1.0, fused / static_cast<double>(sum)));
      for (const std::size_t i : chain)
        own(i, Owner::memory_bandwidth, keep, std::max(keep, 1.5F / static_cast<float>(chain.size())));
      ++result_.chains;
      result_.chain_kernels += std::ssize(chain);
    }
    chain.clear();
  }

  std::int64_t length(std::size_t i) const { return list_.works[i].end - list_.works[i].start; }

  std::vector<std::size_t> main_stream() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      if (list_.works[i].track == list_.main_stream) order.push_back(i);
    }
    return order;
  }

  const Timeline& timeline_;
  const WorkList& list_;
  std::vector<std::vector<std::vector<std::int64_t>>> shapes_;  // by NameId, parsed when needed
  KernelBlame result_;
};

}  // namespace

KernelBlame blame_kernels(const Timeline& timeline, const WorkList& list) { return Blamer(timeline, list).run(); }

std::vector<std::vector<std::int64_t>> parse_shapes(std::string_view text) {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> dims;
  std::int64_t number = -1;
  const auto take = [&] {
    if (number >= 0) dims.push_back(number);
    number = -1;
  };
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (number > (INT64_MAX - 9) / 10) return {};
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      continue;
    }
    take();
    if (c == '[' || c == ']') {
      if (!dims.empty()) shapes.push_back(std::move(dims));
      dims.clear();
    }
  }
  take();
  if (!dims.empty()) shapes.push_back(std::move(dims));
  return shapes;
}

}  // namespace warpmark::analyze
