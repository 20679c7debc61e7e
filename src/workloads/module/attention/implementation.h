// What the implementations of attention share. Each is made for a problem and its input sets and launches on one of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "workloads/module/attention/kernels.h"
#include "workloads/module/device_arrays.h"

namespace warpmark::workloads {

/// softmax(Q K^T / sqrt(dim)) V on [batch, heads, sequence, dim] tensors.
struct AttentionProblem {
  std::int64_t batch, heads, sequence, dimension;
  bool causal;
  AttentionType type;

  [[nodiscard]] std::int64_t matrices() const { return batch * heads; }
  [[nodiscard]] std::int64_t elements() const { return matrices() * sequence * dimension; }
  [[nodiscard]] float scale_log2() const;  ///< log2(e) / sqrt(dim)
};

struct AttentionSet {
  DeviceArray query, key, value, output;
};

class AttentionImplementation {
 public:
  virtual ~AttentionImplementation() = default;
  virtual Status launch(device::Stream stream, std::size_t set) = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> notes() const = 0;
};

struct AttentionInputs {
  device::Device& device;
  const AttentionProblem& problem;
  const std::vector<AttentionSet>& sets;  ///< outlive the implementation
};

using MadeAttention = Result<std::unique_ptr<AttentionImplementation>>;

/// Our fused kernels: wgmma on compute capability 9.0, mma.sync elsewhere, FMA units for f32. dim 64 or 128.
[[nodiscard]] MadeAttention make_flash_attention(const AttentionInputs& inputs);
/// GEMM, softmax, GEMM through an S x S matrix for each head in memory. Environment error with the sizes if it does not
/// fit.
[[nodiscard]] MadeAttention make_standard_attention(const AttentionInputs& inputs);
/// cuDNN's fused attention.
[[nodiscard]] MadeAttention make_cudnn_attention(const AttentionInputs& inputs);

}  // namespace warpmark::workloads
