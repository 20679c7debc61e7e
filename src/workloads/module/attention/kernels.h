// Launchers of the attention kernels. Tensors are [batch, heads, sequence, dim], contiguous; `matrices` is batch *
// heads. Each launcher only enqueues on `stream` and returns the launch's error.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpmark::workloads {

enum class AttentionType { f32, f16, bf16 };

struct AttentionArguments {
  const void* query;
  const void* key;
  const void* value;
  void* output;
  int sequence;
  int dimension;
  int matrices;
  bool causal;
  float scale_log2;  ///< log2(e) / sqrt(dim): exponentials are computed as powers of two
};

/// Fused attention with mma.sync: f16 and bf16, dim 64 or 128, compute capability 8.0 and newer.
cudaError_t launch_flash_portable(AttentionType type, const AttentionArguments& arguments, cudaStream_t stream);

/// Fused attention in f32 on the FMA units: dim 64 or 128.
cudaError_t launch_flash_f32(const AttentionArguments& arguments, cudaStream_t stream);

/// Boxes of the tensor maps that the Hopper kernel wants: rank 3 {dim, sequence, matrices}, 128-byte swizzle, 64
/// columns.
struct HopperBoxes {
  int query_rows;
  int key_rows;
};
[[nodiscard]] HopperBoxes flash_hopper_boxes(int dimension, bool causal);

struct HopperMaps {
  CUtensorMap query, key, value;
};
/// Fused attention with wgmma and TMA: f16 and bf16, dim 64 or 128, compute capability 9.0 only.
cudaError_t launch_flash_hopper(AttentionType type, const AttentionArguments& arguments, const HopperMaps& maps,
                                int multiprocessors, cudaStream_t stream);

/// In place over `rows` rows of `columns` scores: softmax(scale * x) in f32, stored in the same type. Causal: row i of
/// each `columns` consecutive rows sees columns 0 .. i; the others become 0.
struct SoftmaxArguments {
  void* scores;
  std::int64_t rows;
  int columns;
  bool causal;
  float scale_log2;
};
cudaError_t launch_softmax(AttentionType type, const SoftmaxArguments& arguments, cudaStream_t stream);

/// The reference: one matrix (head) in fp64, written to `output` as double [sequence, dim]; `scratch` holds
/// min(sequence, kReferenceBlocks) * sequence doubles.
inline constexpr int kReferenceBlocks = 1056;
struct ReferenceArguments {
  const void* query;
  const void* key;
  const void* value;
  double* output;
  double* scratch;
  int sequence;
  int dimension;
  bool causal;
};
cudaError_t launch_attention_reference(AttentionType type, const ReferenceArguments& arguments, cudaStream_t stream);

/// Multiplies `count` elements by `factor`, in place.
cudaError_t launch_scale(AttentionType type, void* data, std::int64_t count, float factor, cudaStream_t stream);

}  // namespace warpmark::workloads
