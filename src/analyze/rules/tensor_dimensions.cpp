// Matrix products whose dimensions make tensor cores read with narrow loads: they want rows of 16 bytes, which are 8
// numbers of 16 bits and 16 of 8 bits (NVIDIA, "Matrix Multiplication Background User's Guide", section "Tensor Core
// Requirements"). CUTLASS, and cuBLAS and cuDNN with its kernels, write into a kernel's name how many it reads at once
// ("..._align1"): that alone accuses, and recorded shapes say which dimension it was. From Hopper on such kernels are
// those of older GPUs, as its own load by hardware that demands 16 bytes; there what padding leaves was measured,
// elsewhere the finding is a note.
#include <fmt/format.h>
#include <vector>

#include <algorithm>
#include <map>

#include "analyze/names/kernel_names.h"
#include "analyze/names/operator_shapes.h"
#include "analyze/rules/rules.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

namespace {

// The sizes of operators' inputs, where they were recorded: their texts repeat, and each is parsed once.

class RecordedShapes {
 public:
  explicit RecordedShapes(const Timeline& timeline) : timeline_(timeline), parsed_(timeline.names.size()) {}

  /// Of the inputs of an operator; empty for other events, for kNoEvent, and where none were recorded.
  [[nodiscard]] const Shapes& of(EventIndex op) const;

 private:
  const Timeline& timeline_;
  mutable std::vector<Shapes> parsed_;  // by NameId, when first asked for
};

const Shapes& RecordedShapes::of(EventIndex op) const {
  static const Shapes kNone;
  if (op == kNoEvent || timeline_.events.kind[op] != EventKind::op) return kNone;
  const NameId id = timeline_.events.detail[op];
  if (id == 0 || id >= parsed_.size()) return kNone;
  if (parsed_[id].empty()) parsed_[id] = parse_shapes(timeline_.names.at(id));
  return parsed_[id];
}

// Tensor cores fed by narrow loads are seldom faster than half of their rate with wide ones (NVIDIA, "Matrix
// Multiplication Background User's Guide", "Tensor Core Requirements").
constexpr double kLeftWhenAligned = 0.5;
constexpr int kSmallest = 8;  // a dimension of less is padded at a multiple of its cost

/// Numbers that a row's pieces of 16 bytes hold.
int wanted_alignment(std::string_view kernel) { return works_on_8_bits(kernel) ? 16 : 8; }

struct Narrow {
  std::size_t work;
  int wanted;   ///< multiple
  double left;  ///< of its time, when aligned
};

/// Only of 16 bits and fewer: what is wider is told to compute more narrowly first. cuBLAS leaves the tensor cores
/// where rows or pointers are not aligned (cuBLAS library, "Tensor Core Usage").
std::vector<Narrow> narrow_products(const RankEvidence& rank) {
  std::vector<Narrow> found;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    const MatrixUnits& units = rank.attribution.units;
    if (rank.attribution.owner[i] != Owner::none) continue;  // claimed
    if (work.math == MatrixMath::simt_half && units.any)
      found.push_back({i, 8, static_cast<double>(units.left_in_16_bits)});
    if (work.math != MatrixMath::tensor_half) continue;
    const std::string_view kernel = rank.timeline->name_of(work.event);
    const int stated = numbers_read_at_once(kernel), wanted = wanted_alignment(kernel);
    if (stated > 0 && stated < wanted) found.push_back({i, wanted, kLeftWhenAligned});
  }
  return found;
}

/// Dimensions of the inputs and the multiple that they are not, with the time that works with them took.
using Culprits = std::map<std::pair<std::int64_t, int>, double>;

Culprits culprits_of(const RankEvidence& rank, const std::vector<Narrow>& products) {
  const RecordedShapes shapes(*rank.timeline);
  Culprits culprits;
  for (const Narrow& one : products) {
    const GpuWork& work = rank.list.works[one.work];
    if (!rank.in_steps(work)) continue;
    std::map<std::int64_t, bool> of_this;
    for (const auto& dims : shapes.of(work.op)) {
      // Of a batch of matrices the last two are the matrix.
      for (std::size_t d = dims.size() < 2 ? dims.size() : dims.size() - 2; d < dims.size(); ++d) {
        if (dims[d] >= kSmallest && dims[d] % one.wanted != 0) of_this[dims[d]] = true;
      }
    }
    for (const auto& [size, counts] : of_this)
      culprits[{size, one.wanted}] += static_cast<double>(work.end - work.start);
  }
  return culprits;
}

constexpr Advice kPad = {
    .kind = AdviceKind::code,
    .text =
        "Make the dimensions of products multiples of 8 (16 bits) or 16 (8 bits), best of 64: pad what is left over.",
    .native = "const int padded = (n + 63) / 64 * 64;  // rows, columns and leading dimensions, zeros in the rest",
    .pytorch = "layer = torch.nn.Linear(in_features, (out_features + 63) // 64 * 64)  # ignore the columns added",
    .jax = "w = jax.numpy.pad(w, ((0, 0), (0, -w.shape[1] % 64)))",
};

Recommendation padding_of(const Evidence& evidence, std::int64_t size, int multiple) {
  Recommendation advice = advice_for(evidence, {kPad}).front();
  const auto up = [size](std::int64_t to) { return (size + to - 1) / to * to; };
  advice.text += fmt::format(" {} becomes {}, or {}.", size, up(multiple), up(64));
  return advice;
}

std::vector<Finding> apply_tensor_dimensions(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const std::vector<Narrow> products = narrow_products(rank);
  double sum = 0, lost = 0, outside = 0, count = 0;
  for (const Narrow& one : products) {
    const GpuWork& work = rank.list.works[one.work];
    if (!rank.in_steps(work)) continue;
    const double ns = static_cast<double>(work.end - work.start) / rank.step_count();
    sum += ns, lost += ns * (1 - one.left), ++count;
    if (work.math == MatrixMath::simt_half) outside += ns;
  }
  const double step = rank.undisturbed_step_ns();
  if (sum < kMatters * step) return {};
  const Culprits culprits = culprits_of(rank, products);
  const auto worst = std::ranges::max_element(culprits, {}, &Culprits::value_type::second);
  const std::string of = worst == culprits.end()
                             ? ""
                             : fmt::format(", as {} is no multiple of {}", worst->first.first, worst->first.second);
  Finding finding = make_finding(kTensorDimensionsRule, lost, step,
                                 (2 * outside > sum ? "Products of 16 bits run outside of the tensor cores for "
                                                    : "Tensor cores read narrowly for ") +
                                     time_text(sum) + " per step (" + format_percent(sum / step) + ")" + of);
  finding.evidence = {
      time_fact("narrow_products_per_step",
                "Products that read less than 16 bytes at once, or outside of tensor cores, per step", sum),
      count_fact("narrow_product_count_per_step", "Such kernels per step", count / rank.step_count()),
  };
  std::vector<std::pair<double, std::int64_t>> heaviest;
  for (const auto& [which, ns] : culprits) heaviest.emplace_back(ns, which.first);
  std::ranges::stable_sort(heaviest, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (heaviest.size() > kShown) heaviest.resize(kShown);
  for (const auto& [ns, size] : heaviest) {
    finding.evidence.push_back(time_fact(fmt::format("dimension_{}", size), fmt::format("With a dimension of {}", size),
                                         ns / rank.step_count()));
  }
  if (worst != culprits.end()) {
    finding.recommendations = {padding_of(evidence, worst->first.first, worst->first.second)};
  } else {
    advise(evidence, {kPad}, finding);
    finding.evidence.push_back(
        {"Which dimensions they are was not recorded (record_shapes=True)", "shapes_recorded", std::nullopt, ""});
  }
  std::vector<bool> narrow(rank.list.works.size());
  for (const Narrow& one : products) narrow[one.work] = true;
  show_works(
      rank, [&narrow](std::size_t i) { return narrow[i]; }, finding);
  return {finding};
}

void change_tensor_dimensions(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    open_columns(evidence.ranks[r], change.ranks[r]);
    for (const Narrow& one : narrow_products(evidence.ranks[r])) {
      change.ranks[r].duration_scale[one.work] *= static_cast<float>(scaled(one.left, success));
    }
  }
}

}  // namespace

constinit const Rule kTensorDimensionsRule = {
    "tensor_dimensions", "kernel_efficiency",     "Do the dimensions of products suit the tensor cores?",
    Need::gpu_work,      apply_tensor_dimensions, change_tensor_dimensions};

}  // namespace warpmark::analyze
