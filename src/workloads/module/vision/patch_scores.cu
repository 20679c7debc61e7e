// patch_scores in one kernel: a block a patch, a thread a pixel; each plane is read once, and sums go by warp shuffles
// and one line of shared memory.
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/constants.h"

namespace warpmark::workloads::vision {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kSide = ScoreShape::kPatchSide;
constexpr unsigned kPixels = kSide * kSide;
constexpr unsigned kWarps = kPixels / kWarp;

/// Of all threads, to all of them. `shared` is free for the next sum when every thread has come to another barrier.
__device__ __forceinline__ float block_sum(float value, float (&shared)[kWarps]) {
#pragma unroll
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0U, value, offset);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  float all = 0;
#pragma unroll
  for (unsigned i = 0; i < kWarps; ++i) all += shared[i];
  return all;
}

__global__ void __launch_bounds__(kPixels)
    patch_scores(unsigned side, const float* __restrict__ texture, float* __restrict__ scores) {
  __shared__ float shared[4][kWarps];
  const unsigned row = side / kSide, n = row * row;
  const unsigned image = blockIdx.x / n, patch = blockIdx.x % n;
  const std::size_t plane = static_cast<std::size_t>(side) * side;
  const std::size_t pixel = static_cast<std::size_t>(patch / row * kSide + threadIdx.x / kSide) * side +
                            patch % row * kSide + threadIdx.x % kSide;
  const float* at = texture + image * kTextureOutputs * plane + pixel;
  const float l = at[0], a = at[plane], b = at[2 * plane], x = at[3 * plane], y = at[4 * plane];
  const float edges = block_sum(sqrtf(x * x + y * y), shared[0]);
  const float colour = block_sum(sqrtf(a * a + b * b), shared[1]);
  const float distance = l - block_sum(l, shared[2]) / kPixels;
  const float squares = block_sum(distance * distance, shared[3]);
  if (threadIdx.x != 0) return;
  float* out = scores + static_cast<std::size_t>(image) * kPerspectives * n + patch;
  out[0] = edges / kPixels;
  out[n] = colour / kPixels;
  out[2 * static_cast<std::size_t>(n)] = sqrtf(squares / kPixels);
}

}  // namespace

cudaError_t launch_patch_scores(cudaStream_t stream, const ScoreShape& shape, const ScoreBuffers& buffers) {
  const auto blocks = static_cast<unsigned>(shape.n() * static_cast<std::size_t>(shape.batch));
  patch_scores<<<blocks, kPixels, 0, stream>>>(static_cast<unsigned>(shape.side), buffers.texture, buffers.scores);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
