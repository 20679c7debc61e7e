#include "workloads/attention/attention_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/float_types.h"
#include "stats/error_norm.h"
#include "stats/random.h"
#include "workloads/attention/flash_kernels.h"
#include "workloads/cpu_libraries.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

/// Queries three times as large as keys: scores then have a standard deviation of 1, as with normally distributed
/// inputs, and the softmax is far from uniform.
constexpr float kQueryBound = 3;

class AttentionOnCpu final : public measure::Prepared {
 public:
  AttentionOnCpu(AttentionShape shape, std::uint64_t seed, SetMemory memory)
      : shape_(std::move(shape)), seed_(seed), memory_(std::move(memory)) {}

  Status choose(const std::string& impl, device::Device& device) {
    const auto make = impl == "standard" ? make_standard_attention : make_flash_attention;
    WM_ASSIGN(method_, make(shape_, memory_, device));
    return {};
  }

  Status launch(device::Stream /*stream*/, std::size_t set) override { return method_->attend(set); }

  Status poison() override {
    memory_.poison(kAttended);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const AttentionTensors tensors{memory_.bytes(set, kQueries), memory_.bytes(set, kKeys), memory_.bytes(set, kValues),
                                   memory_.bytes(set, kAttended)};
    return check_attention(shape_, tensors, array_seed(seed_, set, 4));
  }

  [[nodiscard]] Notes notes() const override {
    return {{"algorithm", method_->algorithm()},
            {"workspace_bytes", std::to_string(method_->workspace_bytes())},
            {"threads", std::to_string(omp_get_max_threads())}};
  }

 private:
  AttentionShape shape_;
  std::uint64_t seed_;
  SetMemory memory_;
  std::unique_ptr<AttentionMethod> method_;  ///< refers to memory_
};

constexpr std::int64_t kRowWork = std::int64_t{1} << 25;  // products spent on rows

struct View {
  const std::byte* data;
  char type;  ///< 'f' f32, 'b' bf16, 'h' f16
  [[nodiscard]] double operator[](std::int64_t index) const {
    if (type == 'f') return static_cast<double>(reinterpret_cast<const float*>(data)[index]);
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(data)[index];
    return static_cast<double>(type == 'b' ? bf16_to_float(bits) : f16_to_float(bits));
  }
};

struct Problem {
  const AttentionShape& shape;
  View q;
  View k;
  View v;
  View o;
};

/// Row `row` of all the heads' rows, in fp64; `scores` is scratch of seq numbers.
void reference_row(const Problem& problem, std::int64_t row, std::vector<double>& scores, std::vector<double>& out) {
  const auto& [batch, heads, seq, dim, causal, dtype] = problem.shape;
  const std::int64_t head = row / seq;
  const std::int64_t keys = causal ? row % seq + 1 : seq;
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < dim; ++d) dot += problem.q[row * dim + d] * problem.k[(head * seq + j) * dim + d];
    scores[static_cast<std::size_t>(j)] = dot * scale;
    highest = std::max(highest, dot * scale);
  }
  std::fill(out.begin(), out.end(), 0.0);
  double total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j)] - highest);
    total += weight;
    for (std::int64_t d = 0; d < dim; ++d) {
      out[static_cast<std::size_t>(d)] += weight * problem.v[(head * seq + j) * dim + d];
    }
  }
  for (double& value : out) value /= total;
}

double compare_rows(const Problem& problem, const std::vector<std::int64_t>& rows) {
  const std::int64_t dim = problem.shape.dim;
  stats::ErrorNorm total;
#pragma omp parallel
  {
    stats::ErrorNorm mine;
    std::vector<double> scores(static_cast<std::size_t>(problem.shape.seq));
    std::vector<double> reference(static_cast<std::size_t>(dim));
#pragma omp for schedule(dynamic) nowait
    for (std::size_t i = 0; i < rows.size(); ++i) {
      reference_row(problem, rows[i], scores, reference);
      for (std::int64_t d = 0; d < dim; ++d) {
        mine.add(problem.o[rows[i] * dim + d], reference[static_cast<std::size_t>(d)]);
      }
    }
#pragma omp critical(warpmark_attention_check)
    total.merge(mine);
  }
  return total.value();
}

/// Elements of O outside the range of their column of V, widened by `slack` of it; NaN is outside.
std::int64_t count_outside(const Problem& problem, double slack) {
  const auto& shape = problem.shape;
  std::int64_t outside = 0;
#pragma omp parallel for schedule(static) reduction(+ : outside)
  for (std::int64_t head = 0; head < shape.matrices(); ++head) {
    std::vector<double> low(static_cast<std::size_t>(shape.dim), std::numeric_limits<double>::infinity());
    std::vector<double> high(static_cast<std::size_t>(shape.dim), -std::numeric_limits<double>::infinity());
    const std::int64_t first = head * shape.seq * shape.dim;
    for (std::int64_t i = 0; i < shape.seq * shape.dim; ++i) {
      const auto column = static_cast<std::size_t>(i % shape.dim);
      low[column] = std::min(low[column], problem.v[first + i]);
      high[column] = std::max(high[column], problem.v[first + i]);
    }
    for (std::int64_t i = 0; i < shape.seq * shape.dim; ++i) {
      const auto column = static_cast<std::size_t>(i % shape.dim);
      const double margin = slack * std::max(std::fabs(low[column]), std::fabs(high[column]));
      const double value = problem.o[first + i];
      outside += value >= low[column] - margin && value <= high[column] + margin ? 0 : 1;
    }
  }
  return outside;
}

std::vector<std::int64_t> choose_rows(const AttentionShape& shape, std::int64_t count, std::uint64_t seed) {
  const std::int64_t all = shape.matrices() * shape.seq;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto random = static_cast<std::int64_t>(stats::random_bits(seed, i) >> 1);
    rows[i] = count == all ? static_cast<std::int64_t>(i) : random % all;
  }
  if (count < all) {
    rows[0] = 0;
    rows[1] = shape.seq - 1;
    rows[2] = all - shape.seq;
    rows[3] = all - 1;
  }
  return rows;
}

/// f32 accumulates over dim, then over seq, numbers of one sign mostly; the exponential is good to 1e-7. 16-bit types:
/// the result's own rounding, up to 2^-9 (bf16) or 2^-11 (f16), and the rounding of P where an implementation stores
/// it.
double tolerance_of(const std::string& dtype) {
  if (dtype == "f32") return 1e-5;
  return dtype == "bf16" ? 1e-2 : 2e-3;
}

class StandardAttention final : public AttentionMethod {
 public:
  StandardAttention(const OpenBlas& blas, AttentionShape shape, const SetMemory& memory, SetMemory scores)
      : blas_(blas),
        shape_(std::move(shape)),
        memory_(memory),
        scores_(std::move(scores)),
        kernels_(*flash_kernels().front()) {}

  Status attend(std::size_t set) override {
    const std::int64_t heads = shape_.matrices();
    if (heads >= omp_get_max_threads()) {
      // Inside a parallel region OpenBLAS multiplies on the calling thread alone.
#pragma omp parallel for schedule(static)
      for (std::int64_t head = 0; head < heads; ++head) score(set, head);
#pragma omp parallel for schedule(static)
      for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t row = 0; row < shape_.seq; ++row) normalize(head, row);
      }
#pragma omp parallel for schedule(static)
      for (std::int64_t head = 0; head < heads; ++head) weigh(set, head);
      return {};
    }
    for (std::int64_t head = 0; head < heads; ++head) score(set, head);
    for (std::int64_t head = 0; head < heads; ++head) {
#pragma omp parallel for schedule(static)
      for (std::int64_t row = 0; row < shape_.seq; ++row) normalize(head, row);
    }
    for (std::int64_t head = 0; head < heads; ++head) weigh(set, head);
    return {};
  }

  [[nodiscard]] std::size_t workspace_bytes() const override { return scores_.bytes(0, 0).size(); }
  [[nodiscard]] std::string algorithm() const override {
    return std::string("GEMM, softmax, GEMM with all scores in memory; OpenBLAS and ") + kernels_.instructions;
  }

 private:
  [[nodiscard]] float* head_of(std::size_t set, AttentionArray array, std::int64_t head) const {
    return memory_.array<float>(set, array).data() + head * shape_.seq * shape_.dim;
  }
  [[nodiscard]] float* scores_of(std::int64_t head) const {
    return scores_.array<float>(0, 0).data() + head * shape_.seq * shape_.seq;
  }

  void score(std::size_t set, std::int64_t head) const {
    const auto seq = static_cast<blasint>(shape_.seq);
    const auto dim = static_cast<blasint>(shape_.dim);
    const float scale = 1.0F / std::sqrt(static_cast<float>(shape_.dim));
    blas_.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, seq, seq, dim, scale, head_of(set, kQueries, head), dim,
                head_of(set, kKeys, head), dim, 0.0F, scores_of(head), seq);
  }

  void normalize(std::int64_t head, std::int64_t row) const {
    float* scores = scores_of(head) + row * shape_.seq;
    const std::int64_t seen = shape_.causal ? row + 1 : shape_.seq;
    kernels_.softmax(scores, static_cast<std::size_t>(seen));
    for (std::int64_t j = seen; j < shape_.seq; ++j) scores[j] = 0;
  }

  void weigh(std::size_t set, std::int64_t head) const {
    const auto seq = static_cast<blasint>(shape_.seq);
    const auto dim = static_cast<blasint>(shape_.dim);
    blas_.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, seq, dim, seq, 1.0F, scores_of(head), seq,
                head_of(set, kValues, head), dim, 0.0F, head_of(set, kAttended, head), dim);
  }

  const OpenBlas& blas_;
  AttentionShape shape_;
  const SetMemory& memory_;
  SetMemory scores_;
  const FlashKernels& kernels_;
};

}  // namespace

Support attention_supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const std::string& impl = params.text("impl");
  const std::string& dtype = params.text("dtype");
  if (impl == "cudnn") return Support::no("cuDNN runs on NVIDIA GPUs", "use impl=flash or impl=standard");
  if (impl == "standard" && dtype != "f32") {
    return Support::no("impl=standard multiplies with OpenBLAS, which has no " + dtype, "use dtype=f32 or impl=flash");
  }
  const std::int64_t longest = std::max(params.integer("seq"), params.integer("dim"));
  if (longest > std::numeric_limits<int>::max()) {
    return Support::no(fmt::format("seq={} dim={}: the CPU takes at most {}", params.integer("seq"),
                                   params.integer("dim"), std::numeric_limits<int>::max()),
                       "choose a smaller shape with --set");
  }
  return Support::yes();
}

Result<std::unique_ptr<measure::Prepared>> attention_prepare_cpu(const measure::PrepareOptions& options) {
  WM_ASSIGN(const AttentionShape shape, attention_shape(options.params));
  const auto bytes = static_cast<std::size_t>(shape.elements() * element_bytes(shape.dtype));
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, std::array{bytes, bytes, bytes, bytes}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    for (const std::size_t array : {kQueries, kKeys, kValues}) {
      const std::uint64_t seed = array_seed(options.seed, set, array);
      const float bound = array == kQueries ? kQueryBound : 1;
      if (shape.dtype == "f32") fill_random(memory.array<float>(set, array), seed, -bound, bound);
      if (shape.dtype == "bf16") fill_random_bf16(memory.array<std::uint16_t>(set, array), seed, bound);
      if (shape.dtype == "f16") fill_random_f16(memory.array<std::uint16_t>(set, array), seed, bound);
    }
  }
  memory.poison(kAttended);
  auto prepared = std::make_unique<AttentionOnCpu>(shape, options.seed, std::move(memory));
  WM_TRY(prepared->choose(options.params.text("impl"), options.device));
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

ErrorCheck check_attention(const AttentionShape& shape, const AttentionTensors& tensors, std::uint64_t seed) {
  const char type = shape.dtype == "f32" ? 'f' : shape.dtype == "bf16" ? 'b' : 'h';
  const Problem problem{
      shape, {tensors.q.data(), type}, {tensors.k.data(), type}, {tensors.v.data(), type}, {tensors.o.data(), type}};
  const std::int64_t all = shape.matrices() * shape.seq;
  const std::int64_t count = std::min(all, std::max<std::int64_t>(16, kRowWork / (2 * shape.seq * shape.dim)));
  const double tolerance = tolerance_of(shape.dtype);
  ErrorCheck check{.value = compare_rows(problem, choose_rows(shape, count, seed)),
                   .tolerance = tolerance,
                   .norm = "relative Frobenius norm (1e300: not finite, or outside the range of V)",
                   .reference = "fp64, all elements"};
  if (count == all) return check;
  if (count_outside(problem, tolerance) > 0) check.value = stats::kFailedError;
  check.reference = fmt::format("fp64: {} of {} rows; all elements within the range of their column of V", count, all);
  return check;
}

// Standard attention: S = Q K^T / sqrt(dim) of all heads, then the softmax of its rows, then O = P V; three passes over
// batch * heads * seq * seq numbers in memory, as a framework without a fused kernel does. With causal=yes the upper
// half is computed and masked. One head a thread, or the library's own threads where there are fewer heads than
// threads.

Result<std::unique_ptr<AttentionMethod>> make_standard_attention(const AttentionShape& shape, const SetMemory& memory,
                                                                 device::Device& device) {
  WM_ASSIGN(const OpenBlas* blas, openblas());
  const auto bytes = static_cast<std::size_t>(shape.matrices() * shape.seq * shape.seq) * sizeof(float);
  WM_ASSIGN(auto scores, SetMemory::make(device, 1, std::array{bytes}));
  scores.poison(0);  // touches the pages
  return std::unique_ptr<AttentionMethod>(std::make_unique<StandardAttention>(*blas, shape, memory, std::move(scores)));
}

}  // namespace warpmark::workloads
