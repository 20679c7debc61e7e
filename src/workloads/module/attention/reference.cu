// For the inputs and the check of attention. The reference: every product, exponential and sum in fp64, straight from
// the definition. A block takes one query row at a time: scores to scratch, maximum and sum over them, then the
// weighted sum of the values.
#include "workloads/module/attention/fragments.cuh"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {
namespace {

constexpr int kThreads = 256;

__device__ double widen(float x) { return x; }
__device__ double widen(__half x) { return __half2float(x); }
__device__ double widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <bool kMaximum>
__device__ double reduce(double own) {
  __shared__ double all[kThreads];
  __syncthreads();
  all[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = all[threadIdx.x + half];
      all[threadIdx.x] = kMaximum ? fmax(all[threadIdx.x], other) : all[threadIdx.x] + other;
    }
    __syncthreads();
  }
  return all[0];
}

template <typename T>
__global__ void __launch_bounds__(kThreads) attention_reference(const ReferenceArguments arguments) {
  const int sequence = arguments.sequence;
  const int dimension = arguments.dimension;
  const auto* const query = static_cast<const T*>(arguments.query);
  const auto* const key = static_cast<const T*>(arguments.key);
  const auto* const value = static_cast<const T*>(arguments.value);
  double* const scores = arguments.scratch + static_cast<std::size_t>(blockIdx.x) * sequence;
  const double scale = rsqrt(static_cast<double>(dimension));

  for (int row = blockIdx.x; row < sequence; row += gridDim.x) {
    const int keys = arguments.causal ? row + 1 : sequence;
    const T* const q = query + static_cast<std::size_t>(row) * dimension;
    double maximum = -INFINITY;
    for (int k = threadIdx.x; k < keys; k += kThreads) {
      double score = 0;
      const T* const own_key = key + static_cast<std::size_t>(k) * dimension;
      for (int d = 0; d < dimension; ++d) score = fma(widen(q[d]), widen(own_key[d]), score);
      scores[k] = score * scale;
      maximum = fmax(maximum, scores[k]);
    }
    maximum = reduce<true>(maximum);
    double sum = 0;
    for (int k = threadIdx.x; k < keys; k += kThreads) {
      scores[k] = exp(scores[k] - maximum);
      sum += scores[k];
    }
    sum = reduce<false>(sum);  // also makes all scores visible
    for (int d = threadIdx.x; d < dimension; d += kThreads) {
      double output = 0;
      for (int k = 0; k < keys; ++k) {
        output = fma(scores[k], widen(value[static_cast<std::size_t>(k) * dimension + d]), output);
      }
      arguments.output[static_cast<std::size_t>(row) * dimension + d] = output / sum;
    }
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) scale(T* data, std::int64_t count, float factor) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    data[i] = static_cast<T>(static_cast<float>(data[i]) * factor);
  }
}

}  // namespace

cudaError_t launch_scale(AttentionType type, void* data, std::int64_t count, float factor, cudaStream_t stream) {
  constexpr int kBlocks = 1024;
  switch (type) {
    case AttentionType::f32: scale<<<kBlocks, kThreads, 0, stream>>>(static_cast<float*>(data), count, factor); break;
    case AttentionType::f16: scale<<<kBlocks, kThreads, 0, stream>>>(static_cast<__half*>(data), count, factor); break;
    case AttentionType::bf16:
      scale<<<kBlocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(data), count, factor);
      break;
  }
  return cudaGetLastError();
}

cudaError_t launch_attention_reference(AttentionType type, const ReferenceArguments& arguments, cudaStream_t stream) {
  const int blocks = arguments.sequence < kReferenceBlocks ? arguments.sequence : kReferenceBlocks;
  switch (type) {
    case AttentionType::f32: attention_reference<float><<<blocks, kThreads, 0, stream>>>(arguments); break;
    case AttentionType::f16: attention_reference<__half><<<blocks, kThreads, 0, stream>>>(arguments); break;
    case AttentionType::bf16: attention_reference<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments); break;
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
