// Sums of rows of one table in GPU memory.
#include "workloads/module/feeding/embedding_kernels.h"

#include "workloads/module/feeding/gather_sums.cuh"

namespace warpmark::workloads {

cudaError_t launch_gather_sums(cudaStream_t stream, const EmbeddingArrays& arrays) {
  return gather_sums(stream, DirectRows<std::int64_t>{arrays.table, arrays.numbers}, arrays.bags);
}

cudaError_t launch_reference_sums(cudaStream_t stream, const EmbeddingArrays& arrays, double* right) {
  return reference_sums(stream, DirectRows<std::int64_t>{arrays.table, arrays.numbers}, arrays.bags, right);
}

}  // namespace warpmark::workloads
