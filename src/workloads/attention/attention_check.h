// Is O = softmax(Q K^T / sqrt(dim)) V? In fp64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/run.h"
#include "workloads/attention/attention_shape.h"

namespace warpmark::workloads {

struct AttentionTensors {
  std::span<const std::byte> q;
  std::span<const std::byte> k;
  std::span<const std::byte> v;
  std::span<const std::byte> o;
};

/// Small shapes: every row. Larger ones: random rows in full, the first and the last row of the first and the last head
/// among them; and every element of O must lie within the range of its column of V, as each row of O is a weighted mean
/// of V's rows: that finds elements that were not written, or were garbage, anywhere.
[[nodiscard]] ErrorCheck check_attention(const AttentionShape& shape, const AttentionTensors& tensors,
                                         std::uint64_t seed);

}  // namespace warpmark::workloads
