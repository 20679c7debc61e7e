#include "workloads/module/array_kernels.h"

#include "workloads/module/array_kernels.cuh"

namespace warpmark::workloads {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t first_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t index_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

int blocks_for(std::int64_t count) {
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < 1 ? 1 : blocks > 8192 ? 8192 : blocks);
}

__global__ void fill_uniform_kernel(FillRequest request) {
  for (std::int64_t i = first_index(); i < request.count; i += index_stride()) {
    const double unit = uniform_element(request.key, i);
    const double value = request.whole ? floor((unit + 1) * 127.5) - 127 : unit;  // 255 equally likely integers
    store_element(request.to, request.type, i, value);
  }
}

__global__ void convert_kernel(ArrayView from, void* to, ElementType to_type, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    store_element(to, to_type, i, load_element(from.data, from.type, i));
  }
}

__device__ void add(ErrorSums& to, const ErrorSums& from) {
  to.difference_squares += from.difference_squares;
  to.reference_squares += from.reference_squares;
  to.different += from.different;
}

/// The block's total, in thread 0; the order of the additions is fixed.
__device__ ErrorSums block_total(const ErrorSums& mine) {
  __shared__ ErrorSums partial[kThreads];
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) add(partial[threadIdx.x], partial[threadIdx.x + width]);
    __syncthreads();
  }
  return partial[0];
}

__global__ void error_partials_kernel(ArrayView out, ArrayView reference, std::int64_t count, ErrorSums* sums) {
  ErrorSums mine{};
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    const double expected = load_element(reference.data, reference.type, i);
    const double actual = load_element(out.data, out.type, i);
    const double difference = actual - expected;
    mine.difference_squares += difference * difference;  // NaN and infinity stay in the sum
    mine.reference_squares += expected * expected;
    mine.different += actual == expected ? 0 : 1;
  }
  const ErrorSums total = block_total(mine);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void error_total_kernel(ErrorSums* sums) {
  ErrorSums mine{};
  for (int i = static_cast<int>(threadIdx.x); i < kErrorBlocks; i += kThreads) add(mine, sums[i]);
  const ErrorSums total = block_total(mine);
  if (threadIdx.x == 0) sums[kErrorBlocks] = total;
}

}  // namespace

cudaError_t launch_fill_uniform(cudaStream_t stream, const FillRequest& request) {
  if (request.count == 0) return cudaSuccess;
  fill_uniform_kernel<<<blocks_for(request.count), kThreads, 0, stream>>>(request);
  return cudaGetLastError();
}

cudaError_t launch_error_sums(cudaStream_t stream, ArrayView out, ArrayView reference, std::int64_t count,
                              ErrorSums* sums) {
  error_partials_kernel<<<kErrorBlocks, kThreads, 0, stream>>>(out, reference, count, sums);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  error_total_kernel<<<1, kThreads, 0, stream>>>(sums);
  return cudaGetLastError();
}

cudaError_t launch_convert(cudaStream_t stream, ArrayView from, void* to, ElementType to_type, std::int64_t count) {
  if (count == 0) return cudaSuccess;
  convert_kernel<<<blocks_for(count), kThreads, 0, stream>>>(from, to, to_type, count);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
