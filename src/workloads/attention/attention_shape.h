// The shape of an attention layer.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/params.h"

namespace warpmark::workloads {

/// Q, K, V and O are [batch, heads, seq, dim], dense.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t seq = 0;
  std::int64_t dim = 0;
  bool causal = false;  ///< query i sees keys 0 .. i only
  std::string dtype;

  [[nodiscard]] std::int64_t matrices() const { return batch * heads; }
  [[nodiscard]] std::int64_t elements() const { return batch * heads * seq * dim; }
};

/// Usage error that names the numbers for a size below 1 or products above 2^62.
[[nodiscard]] Result<AttentionShape> attention_shape(const Params& params);

}  // namespace warpmark::workloads
