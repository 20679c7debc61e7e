// Softmax over rows in memory, for impl=standard. One block a row: an online pass for maximum and sum (Milakov and
// Gimelshein, 2018, arXiv:1805.02867), then a second pass over the row, which is in the cache by then, to write.
#include "workloads/module/attention/fragments.cuh"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
  T values[kCount];
};

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ void assign(float& to, float x) { to = x; }
__device__ __forceinline__ void assign(__half& to, float x) { to = __float2half_rn(x); }
__device__ __forceinline__ void assign(__nv_bfloat16& to, float x) { to = __float2bfloat16_rn(x); }

struct Partial {
  float maximum, sum;
};

__device__ __forceinline__ Partial merge(Partial a, Partial b) {
  const float top = fmaxf(a.maximum, b.maximum);
  if (top == -INFINITY) return {top, 0};
  return {top, a.sum * exp2f(a.maximum - top) + b.sum * exp2f(b.maximum - top)};
}

__device__ Partial merge_block(Partial own) {
  __shared__ Partial warps[kWarps];
  for (int step = 16; step > 0; step /= 2) {
    own = merge(own, {__shfl_xor_sync(0xFFFFFFFF, own.maximum, step), __shfl_xor_sync(0xFFFFFFFF, own.sum, step)});
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = warps[0];
  for (int i = 1; i < kWarps; ++i) own = merge(own, warps[i]);
  return own;
}

template <typename T, int kCount, bool kCausal>
__global__ void __launch_bounds__(kThreads) softmax(const SoftmaxArguments arguments) {
  using Group = Pack<T, kCount>;
  auto* const row = reinterpret_cast<Group*>(static_cast<T*>(arguments.scores) +
                                             static_cast<std::size_t>(blockIdx.x) * arguments.columns);
  const int groups = arguments.columns / kCount;
  const int end = kCausal ? static_cast<int>(blockIdx.x % arguments.columns) + 1 : arguments.columns;

  Partial own = {-INFINITY, 0};
  for (int i = threadIdx.x; i * kCount < end; i += kThreads) {
    const Group group = row[i];
    float top = own.maximum;
    float scaled[kCount];
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      scaled[j] = i * kCount + j < end ? widen(group.values[j]) * arguments.scale_log2 : -INFINITY;
      top = fmaxf(top, scaled[j]);
    }
    float sum = own.sum * exp2f(own.maximum - top);
#pragma unroll
    for (int j = 0; j < kCount; ++j) sum += exp2f(scaled[j] - top);
    own = {top, sum};
  }
  own = merge_block(own);
  const float inverse = 1.0F / own.sum;
  for (int i = threadIdx.x; i < groups; i += kThreads) {
    Group group = row[i];
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const bool seen = i * kCount + j < end;
      const float scaled = widen(group.values[j]) * arguments.scale_log2;
      assign(group.values[j], seen ? exp2f(scaled - own.maximum) * inverse : 0.0F);
    }
    row[i] = group;
  }
}

template <typename T>
cudaError_t launch(const SoftmaxArguments& arguments, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  const auto blocks = static_cast<unsigned>(arguments.rows);
  if (arguments.columns % kVector == 0) {
    if (arguments.causal)
      softmax<T, kVector, true><<<blocks, kThreads, 0, stream>>>(arguments);
    else
      softmax<T, kVector, false><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    if (arguments.causal)
      softmax<T, 1, true><<<blocks, kThreads, 0, stream>>>(arguments);
    else
      softmax<T, 1, false><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_softmax(AttentionType type, const SoftmaxArguments& arguments, cudaStream_t stream) {
  switch (type) {
    case AttentionType::f32: return launch<float>(arguments, stream);
    case AttentionType::f16: return launch<__half>(arguments, stream);
    case AttentionType::bf16: return launch<__nv_bfloat16>(arguments, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace warpmark::workloads
