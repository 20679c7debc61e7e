// The inner loops of flash attention, once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace warpmark::workloads {

/// One head as a thread works on it: f32, with dim rounded up to whole panels of zeros.
struct FlashHead {
  std::size_t seq = 0;
  std::size_t dim = 0;
  std::size_t padded_dim = 0;     ///< of values: a multiple of `panel`
  std::size_t padded_keys = 0;    ///< a multiple of `keys_per_tile`
  const float* keys = nullptr;    ///< panels of keys, transposed: [padded_keys / panel][dim][panel]
  const float* values = nullptr;  ///< [padded_keys][padded_dim]
  bool causal = false;
};

/// Queries first_row .. first_row + rows of that head. Memory of the thread.
struct FlashQueries {
  std::size_t first_row = 0;
  std::size_t rows = 0;            ///< at most `queries_per_block`
  const float* queries = nullptr;  ///< [queries_per_block][dim], times log2(e) / sqrt(dim); rows beyond are zero
  float* attended = nullptr;       ///< [queries_per_block][padded_dim]: the result
  float* scores = nullptr;         ///< scratch: rows_per_group * keys_per_tile numbers
  float* highest = nullptr;        ///< scratch: queries_per_block numbers
  float* total = nullptr;          ///< scratch: queries_per_block numbers
};

/// All pointers are 64-byte aligned; counts are of elements.
struct FlashKernels {
  const char* instructions;
  std::size_t panel;           ///< keys, or numbers of a value, that one inner loop works on
  std::size_t rows_per_group;  ///< queries that it works on
  std::size_t keys_per_tile;
  std::size_t queries_per_block;  ///< a multiple of rows_per_group
  void (*attend)(const FlashHead& head, const FlashQueries& queries);
  void (*softmax)(float* scores, std::size_t count);                             ///< in place, of one row; unaligned
  void (*widen_bf16)(const std::uint16_t* from, float* to, std::size_t count);   ///< unaligned
  void (*widen_f16)(const std::uint16_t* from, float* to, std::size_t count);    ///< unaligned
  void (*narrow_bf16)(const float* from, std::uint16_t* to, std::size_t count);  ///< unaligned, to nearest even
  void (*narrow_f16)(const float* from, std::uint16_t* to, std::size_t count);   ///< unaligned, to nearest even
};

/// Those that this CPU can run, the widest first; never empty.
[[nodiscard]] std::span<const FlashKernels* const> flash_kernels();

}  // namespace warpmark::workloads
