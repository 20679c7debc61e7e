// Launchers of the vision kernels. They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workloads/vision/shapes.h"

namespace warpmark::workloads::vision {

struct TextureBuffers {
  const float* rgb;  ///< [n, 3, h, w]
  float* out;        ///< [n, 5, h, w]
  float* linear;     ///< [n, 3, h, w], unfused only
  float* xyz;        ///< [n, 3, h, w], unfused only
};

/// One kernel: each input read once from memory, each output written once.
cudaError_t launch_fused_texture(cudaStream_t stream, const TextureShape& shape, const TextureBuffers& buffers);
/// Four kernels with their intermediates in memory.
cudaError_t launch_unfused_texture(cudaStream_t stream, const TextureShape& shape, const TextureBuffers& buffers);
/// The fp64 formulas, one thread a pixel: out is [n, 5, h, w].
cudaError_t launch_texture_reference(cudaStream_t stream, const TextureShape& shape, const float* rgb, double* out);

/// Squares of one part of a channel.
struct ChannelSquares {
  double difference;
  double reference;
};
inline constexpr int kSquareParts = 64;
/// squares is [5, kSquareParts]; the parts are summed in a fixed order.
cudaError_t launch_channel_squares(cudaStream_t stream, const TextureShape& shape, const float* out,
                                   const double* reference, ChannelSquares* squares);

struct ScoreBuffers {
  const float* texture;  ///< [batch, 5, side, side]
  float* scores;         ///< [batch, 3, n]
};
/// One kernel, a block a patch.
cudaError_t launch_patch_scores(cudaStream_t stream, const ScoreShape& shape, const ScoreBuffers& buffers);

/// Scores of one image that top_k_patches and opponent_balance keep in shared memory.
inline constexpr std::int64_t kMaxPatchesOnGpu = 8192;

struct PatchBuffers {
  const float* scores;
  const void* features;
  std::int32_t* indices_out;
  void* features_out;
};
/// One kernel. `multiprocessors` decides over how many blocks an image is split.
cudaError_t launch_top_k_patches(cudaStream_t stream, const PatchShape& shape, const PatchBuffers& buffers,
                                 int multiprocessors);

struct BalanceBuffers {
  const float* scores;
  float* relevance;
  std::int32_t* tokens;
};
/// One kernel, a block an image.
cudaError_t launch_opponent_balance(cudaStream_t stream, const BalanceShape& shape, const BalanceBuffers& buffers);

}  // namespace warpmark::workloads::vision
