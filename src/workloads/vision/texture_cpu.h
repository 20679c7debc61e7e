// fused_texture's loops over images on the CPU. Nothing here allocates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/vision/shapes.h"
#include "workloads/vision/simd_kernels.h"

namespace warpmark::workloads::vision {

struct TextureArrays {
  const float* rgb;  ///< [n, 3, h, w]
  float* out;        ///< [n, 5, h, w]
  float* linear;     ///< [n, 3, h, w], unfused only
  float* xyz;        ///< [n, 3, h, w], unfused only
};

/// Floats of scratch memory that fused_texture_cpu needs a thread.
[[nodiscard]] std::size_t texture_scratch(const TextureShape& shape);

/// One pass: strips of rows walked with three rows of L* in the cache, results stored past the caches. Runs on
/// scratch.size() threads.
void fused_texture_cpu(const SimdKernels& kernels, const TextureShape& shape, const TextureArrays& arrays,
                       std::span<std::vector<float>> scratch);

/// Four passes over memory: linearize, XYZ, L* a* b*, Sobel.
void unfused_texture_cpu(const SimdKernels& kernels, const TextureShape& shape, const TextureArrays& arrays,
                         int threads);

}  // namespace warpmark::workloads::vision
