// Launchers of the kernels of embedding (embedding_kernels.cu). They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpmark::workloads {

struct EmbeddingArrays {
  const void* table;            ///< rows x dim, f32, or f16 where `narrow`
  const std::int64_t* numbers;  ///< bags x lookups, each a row of the table
  float* sums;                  ///< bags x dim
  std::int64_t bags;
  int lookups;
  int dim;
  bool narrow;
};

/// sums[b] = sum over i of table[numbers[b, i]].
cudaError_t launch_gather_sums(cudaStream_t stream, const EmbeddingArrays& arrays);

/// The same in fp64, element by element, into `right` (bags x dim).
cudaError_t launch_reference_sums(cudaStream_t stream, const EmbeddingArrays& arrays, double* right);

}  // namespace warpmark::workloads
