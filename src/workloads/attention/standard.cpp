// Standard attention: S = Q K^T / sqrt(dim) of all heads, then the softmax of its rows, then O = P V; three passes over
// batch * heads * seq * seq numbers in memory, as a framework without a fused kernel does. With causal=yes the upper
// half is computed and masked. One head a thread, or the library's own threads where there are fewer heads than
// threads.
#include <omp.h>

#include <array>
#include <cmath>

#include "workloads/attention/attention_cpu.h"
#include "workloads/attention/flash_kernels.h"
#include "workloads/openblas.h"

namespace warpmark::workloads {
namespace {

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

Result<std::unique_ptr<AttentionMethod>> make_standard_attention(const AttentionShape& shape, const SetMemory& memory,
                                                                 device::Device& device) {
  WM_ASSIGN(const OpenBlas* blas, openblas());
  const auto bytes = static_cast<std::size_t>(shape.matrices() * shape.seq * shape.seq) * sizeof(float);
  WM_ASSIGN(auto scores, SetMemory::make(device, 1, std::array{bytes}));
  scores.poison(0);  // touches the pages
  return std::unique_ptr<AttentionMethod>(std::make_unique<StandardAttention>(*blas, shape, memory, std::move(scores)));
}

}  // namespace warpmark::workloads
