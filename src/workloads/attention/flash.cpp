// Flash attention on the CPU: scores exist for one tile of queries and keys at a time (Dao et al., 2022), softmax is
// computed online. A thread takes a head, or a part of its queries where there are fewer heads than threads, and keeps
// an f32 copy of the head's keys (transposed in panels, so that the inner loop reads them in order) and values: 2 * seq
// * dim numbers, not seq * seq. 16-bit inputs are widened in that copy and all arithmetic is f32.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/attention/attention_cpu.h"
#include "workloads/attention/flash_kernels.h"

namespace warpmark::workloads {
namespace {

std::size_t round_up(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

/// A thread's memory.
enum Workspace : std::size_t {
  kPackedKeys,
  kPackedValues,
  kBlockQueries,
  kBlockAttended,
  kScores,
  kHighest,
  kTotal,
  kRow
};

class FlashAttention final : public AttentionMethod {
 public:
  FlashAttention(AttentionShape shape, const SetMemory& memory)
      : shape_(std::move(shape)), memory_(memory), kernels_(*flash_kernels().front()) {
    seq_ = static_cast<std::size_t>(shape_.seq);
    dim_ = static_cast<std::size_t>(shape_.dim);
    padded_dim_ = round_up(dim_, kernels_.panel);
    padded_keys_ = round_up(seq_, kernels_.keys_per_tile);
    threads_ = static_cast<std::size_t>(omp_get_max_threads());
    const auto heads = static_cast<std::size_t>(shape_.matrices());
    const std::size_t blocks = (seq_ + kernels_.queries_per_block - 1) / kernels_.queries_per_block;
    parts_ = std::min(blocks, (threads_ + heads - 1) / heads);
  }

  Status allocate(device::Device& device) {
    const std::size_t block = kernels_.queries_per_block;
    std::array sizes{padded_keys_ * dim_,
                     padded_keys_ * padded_dim_,
                     block * dim_,
                     block * padded_dim_,
                     kernels_.rows_per_group * kernels_.keys_per_tile,
                     block,
                     block,
                     round_up(dim_, kernels_.panel)};
    for (std::size_t& size : sizes) size *= sizeof(float);
    WM_ASSIGN(workspace_, SetMemory::make(device, threads_, sizes));
    workspace_bytes_ = 0;
    for (const std::size_t size : sizes) workspace_bytes_ += size * threads_;
    for (std::size_t array = kPackedKeys; array <= kRow; ++array) workspace_.poison(array);  // touches the pages
    return {};
  }

  Status attend(std::size_t set) override {
    const std::size_t items = static_cast<std::size_t>(shape_.matrices()) * parts_;
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(threads_))
    for (std::size_t item = 0; item < items; ++item) {
      attend_part(set, item / parts_, item % parts_, static_cast<std::size_t>(omp_get_thread_num()));
    }
    return {};
  }

  [[nodiscard]] std::size_t workspace_bytes() const override { return workspace_bytes_; }
  [[nodiscard]] std::string algorithm() const override {
    return std::string("tiles with online softmax, f32 arithmetic, ") + kernels_.instructions;
  }

 private:
  [[nodiscard]] float* mine(std::size_t thread, Workspace what) const {
    return workspace_.array<float>(thread, what).data();
  }

  /// Row `row` of all the rows of an array, as f32.
  void read_row(std::size_t set, AttentionArray array, std::size_t row, float* to) const {
    if (shape_.dtype == "f32") {
      std::copy_n(memory_.array<float>(set, array).data() + row * dim_, dim_, to);
      return;
    }
    const std::uint16_t* from = memory_.array<std::uint16_t>(set, array).data() + row * dim_;
    (shape_.dtype == "bf16" ? kernels_.widen_bf16 : kernels_.widen_f16)(from, to, dim_);
  }

  void write_row(std::size_t set, std::size_t row, const float* from) const {
    if (shape_.dtype == "f32") {
      std::copy_n(from, dim_, memory_.array<float>(set, kAttended).data() + row * dim_);
      return;
    }
    std::uint16_t* to = memory_.array<std::uint16_t>(set, kAttended).data() + row * dim_;
    (shape_.dtype == "bf16" ? kernels_.narrow_bf16 : kernels_.narrow_f16)(from, to, dim_);
  }

  void pack(std::size_t set, std::size_t head, std::size_t thread, std::size_t keys) const {
    const std::size_t panel = kernels_.panel;
    float* packed_keys = mine(thread, kPackedKeys);
    float* packed_values = mine(thread, kPackedValues);
    float* row = mine(thread, kRow);
    for (std::size_t key = 0; key < round_up(keys, kernels_.keys_per_tile); ++key) {
      float* to_key = packed_keys + key / panel * panel * dim_ + key % panel;
      float* to_value = packed_values + key * padded_dim_;
      if (key >= seq_) {
        for (std::size_t d = 0; d < dim_; ++d) to_key[d * panel] = 0;
        std::fill_n(to_value, padded_dim_, 0.0F);
        continue;
      }
      read_row(set, kKeys, head * seq_ + key, row);
      for (std::size_t d = 0; d < dim_; ++d) to_key[d * panel] = row[d];
      read_row(set, kValues, head * seq_ + key, to_value);
      std::fill(to_value + dim_, to_value + padded_dim_, 0.0F);
    }
  }

  void attend_part(std::size_t set, std::size_t head, std::size_t part, std::size_t thread) const {
    const std::size_t block = kernels_.queries_per_block;
    const std::size_t blocks = (seq_ + block - 1) / block;
    const std::size_t first = blocks * part / parts_ * block;
    const std::size_t end = std::min(seq_, blocks * (part + 1) / parts_ * block);
    pack(set, head, thread, shape_.causal ? end : seq_);
    const FlashHead packed{.seq = seq_,
                           .dim = dim_,
                           .padded_dim = padded_dim_,
                           .padded_keys = padded_keys_,
                           .keys = mine(thread, kPackedKeys),
                           .values = mine(thread, kPackedValues),
                           .causal = shape_.causal};
    const float scale = 1.4426950408889634F / std::sqrt(static_cast<float>(dim_));  // log2(e) / sqrt(dim)
    float* queries = mine(thread, kBlockQueries);
    float* attended = mine(thread, kBlockAttended);
    for (std::size_t row = first; row < end; row += block) {
      const std::size_t rows = std::min(block, end - row);
      for (std::size_t i = 0; i < rows; ++i) {
        read_row(set, kQueries, head * seq_ + row + i, queries + i * dim_);
      }
      for (std::size_t i = 0; i < rows * dim_; ++i) queries[i] *= scale;
      std::fill(queries + rows * dim_, queries + block * dim_, 0.0F);
      kernels_.attend(packed, {.first_row = row,
                               .rows = rows,
                               .queries = queries,
                               .attended = attended,
                               .scores = mine(thread, kScores),
                               .highest = mine(thread, kHighest),
                               .total = mine(thread, kTotal)});
      for (std::size_t i = 0; i < rows; ++i) write_row(set, head * seq_ + row + i, attended + i * padded_dim_);
    }
  }

  AttentionShape shape_;
  const SetMemory& memory_;
  const FlashKernels& kernels_;
  SetMemory workspace_;  ///< a "set" is a thread's
  std::size_t workspace_bytes_ = 0;
  std::size_t seq_ = 0;
  std::size_t dim_ = 0;
  std::size_t padded_dim_ = 0;
  std::size_t padded_keys_ = 0;
  std::size_t threads_ = 1;
  std::size_t parts_ = 1;  ///< pieces of a head's queries
};

}  // namespace

Result<std::unique_ptr<AttentionMethod>> make_flash_attention(const AttentionShape& shape, const SetMemory& memory,
                                                              device::Device& device) {
  auto flash = std::make_unique<FlashAttention>(shape, memory);
  WM_TRY(flash->allocate(device));
  return std::unique_ptr<AttentionMethod>(std::move(flash));
}

}  // namespace warpmark::workloads
