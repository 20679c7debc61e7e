// Launchers of the kernels of embedding (embedding_kernels.cu). They return the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpmark::workloads {

/// What is added up, wherever the rows are.
struct BagSums {
  float* sums;  ///< bags x dim
  std::int64_t bags;
  int lookups;  ///< rows of a bag
  int dim;
  bool narrow;  ///< rows are f16, else f32
};

struct EmbeddingArrays {
  const void* table;            ///< rows x dim
  const std::int64_t* numbers;  ///< bags x lookups, each a row of the table
  BagSums bags;
};

/// sums[b] = sum over i of table[numbers[b, i]].
cudaError_t launch_gather_sums(cudaStream_t stream, const EmbeddingArrays& arrays);

/// The same in fp64, element by element, into `right` (bags x dim).
cudaError_t launch_reference_sums(cudaStream_t stream, const EmbeddingArrays& arrays, double* right);

}  // namespace warpmark::workloads
