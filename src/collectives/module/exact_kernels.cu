// Filling and checking with exact values on the GPU: the functions of exact_values.h, one element a thread and step.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "collectives/module/exact_kernels.h"

namespace warpmark::collectives {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 4096;

template <typename T>
__device__ T stored(std::int64_t value) {
  return static_cast<T>(value);
}
template <>
__device__ __half stored<__half>(std::int64_t value) {
  return __float2half(static_cast<float>(value));
}
template <>
__device__ __nv_bfloat16 stored<__nv_bfloat16>(std::int64_t value) {
  return __float2bfloat16(static_cast<float>(value));
}

template <typename T>
__device__ double number(T value) {
  return static_cast<double>(value);
}
template <>
__device__ double number<__half>(__half value) {
  return static_cast<double>(__half2float(value));
}
template <>
__device__ double number<__nv_bfloat16>(__nv_bfloat16 value) {
  return static_cast<double>(__bfloat162float(value));
}

template <typename T>
__global__ void fill_exact_kernel(T* to, std::int64_t count, ExactInput input, std::uint64_t salt, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = stored<T>(exact_value(input, salt, static_cast<std::uint64_t>(i), rank));
  }
}

__device__ std::int64_t wanted_value(const Expected& expected, std::uint64_t index) {
  const Origin origin = origin_of(expected.kind, index, static_cast<std::uint64_t>(expected.parameter), expected.rank,
                                  expected.root, expected.input.ranks);
  return origin.reduced ? exact_reduction(expected.input, expected.salt, origin.index)
                        : exact_value(expected.input, expected.salt, origin.index, origin.rank);
}

template <typename T>
__global__ void count_wrong_kernel(const T* data, std::int64_t count, Expected expected, unsigned long long* wrong) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const double want = static_cast<double>(wanted_value(expected, static_cast<std::uint64_t>(i)));
    // Written so that a NaN, which unwritten elements are, is wrong.
    if (!(fabs(number(data[i]) - want) <= expected.tolerance * fabs(want))) ++found;
  }
  if (found > 0) atomicAdd(wrong, found);
}

int blocks_for(std::int64_t count) {
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

template <typename T>
cudaError_t fill_as(cudaStream_t stream, const FillWork& work) {
  fill_exact_kernel<T><<<blocks_for(work.count), kThreads, 0, stream>>>(static_cast<T*>(work.to), work.count,
                                                                        work.input, work.salt, work.rank);
  return cudaGetLastError();
}

template <typename T>
cudaError_t count_as(cudaStream_t stream, const void* data, std::int64_t count, const Expected& expected,
                     unsigned long long* wrong) {
  count_wrong_kernel<T>
      <<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(data), count, expected, wrong);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_fill_exact(cudaStream_t stream, const FillWork& work) {
  if (work.count == 0) return cudaSuccess;
  switch (work.type) {
    case DataType::f64: return fill_as<double>(stream, work);
    case DataType::f32: return fill_as<float>(stream, work);
    case DataType::f16: return fill_as<__half>(stream, work);
    case DataType::bf16: return fill_as<__nv_bfloat16>(stream, work);
    case DataType::int8: return fill_as<std::int8_t>(stream, work);
    case DataType::uint8: return fill_as<std::uint8_t>(stream, work);
    case DataType::int32: return fill_as<std::int32_t>(stream, work);
    case DataType::int64: return fill_as<std::int64_t>(stream, work);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_count_wrong(cudaStream_t stream, const void* data, DataType type, std::int64_t count,
                               const Expected& expected, unsigned long long* wrong) {
  if (count == 0) return cudaSuccess;
  switch (type) {
    case DataType::f64: return count_as<double>(stream, data, count, expected, wrong);
    case DataType::f32: return count_as<float>(stream, data, count, expected, wrong);
    case DataType::f16: return count_as<__half>(stream, data, count, expected, wrong);
    case DataType::bf16: return count_as<__nv_bfloat16>(stream, data, count, expected, wrong);
    case DataType::int8: return count_as<std::int8_t>(stream, data, count, expected, wrong);
    case DataType::uint8: return count_as<std::uint8_t>(stream, data, count, expected, wrong);
    case DataType::int32: return count_as<std::int32_t>(stream, data, count, expected, wrong);
    case DataType::int64: return count_as<std::int64_t>(stream, data, count, expected, wrong);
  }
  return cudaErrorInvalidValue;
}

}  // namespace warpmark::collectives
