// The inner loops of the vision workloads on the CPU, each compiled for several instruction sets from one source. The
// widest set that the processor has is used; tests run them all.
#pragma once

#include <cstddef>
#include <span>

namespace warpmark::workloads::vision {

/// sRGB to CIELAB over `count` pixels.
struct LabRow {
  const float* rgb[3];
  float* lab[3];
  std::size_t count;
};

/// sRGB to L* only.
struct LightnessRow {
  const float* rgb[3];
  float* lightness;
  std::size_t count;
};

/// Sobel x and y of a row of L* from it and its neighbours, each readable from [-1] to [count].
struct SobelRow {
  const float* above;
  const float* here;
  const float* below;
  float* gradient_x;
  float* gradient_y;
  std::size_t count;
};

/// The steps of LabRow one by one, for `impl=unfused`.
struct LinearizeRow {
  const float* encoded;
  float* linear;
  std::size_t count;
};
struct XyzRow {
  const float* linear[3];
  float* xyz[3];  ///< each over its white
  std::size_t count;
};
struct LabFromXyzRow {
  const float* xyz[3];
  float* lab[3];
  std::size_t count;
};

/// Mean and population variance.
struct MomentsRow {
  const float* values;
  std::size_t count;
  double* mean;
  double* variance;
};

/// Balanced relevance from three perspectives' scores: z = (scores - mean) * scale.
struct RelevanceRow {
  const float* scores[3];
  float mean[3];
  float scale[3];
  float* relevance;
  std::size_t count;
};

struct SimdKernels {
  const char* target;  ///< "avx512", "avx2", "x86-64", "portable"
  void (*lab)(const LabRow&);
  void (*lightness)(const LightnessRow&);
  void (*sobel)(const SobelRow&);
  void (*linearize)(const LinearizeRow&);
  void (*xyz)(const XyzRow&);
  void (*lab_from_xyz)(const LabFromXyzRow&);
  void (*moments)(const MomentsRow&);
  void (*relevance)(const RelevanceRow&);
};

/// Those that this processor can run, widest first; never empty.
[[nodiscard]] std::span<const SimdKernels> simd_kernels();

/// Copies `count` floats past the caches with non-temporal stores. Call store_fence() on the same thread before anyone
/// else reads them.
void stream_row(float* to, const float* from, std::size_t count);
void store_fence();

}  // namespace warpmark::workloads::vision
