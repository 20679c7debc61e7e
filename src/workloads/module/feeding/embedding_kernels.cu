// Rows gathered and added up: a team of neighbouring threads has a bag, each thread some columns of 16 bytes, so that a
// row is read in whole lines. Four rows are asked for before the first is added, as each takes the memory's latency.
#include <cuda_fp16.h>

#include <algorithm>

#include "workloads/module/feeding/embedding_kernels.h"

namespace warpmark::workloads {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsAhead = 4;

/// One number.
template <typename T>
struct One {
  using Load = T;
  static constexpr int kNumbers = 1;
  __device__ static void add(float* sums, const Load& value) { sums[0] += static_cast<float>(value); }
};

/// 16 bytes of them.
struct FourFloats {
  using Load = float4;
  static constexpr int kNumbers = 4;
  __device__ static void add(float* sums, const Load& value) {
    sums[0] += value.x;
    sums[1] += value.y;
    sums[2] += value.z;
    sums[3] += value.w;
  }
};
struct EightHalves {
  using Load = uint4;
  static constexpr int kNumbers = 8;
  __device__ static void add(float* sums, const Load& value) {
    const unsigned words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
      sums[2 * i] += pair.x;
      sums[2 * i + 1] += pair.y;
    }
  }
};

/// `team` threads, a power of two up to a warp, have a bag.
template <typename Column>
__global__ void __launch_bounds__(kThreads) gather_kernel(EmbeddingArrays arrays, int team) {
  using Load = typename Column::Load;
  const int columns = arrays.dim / Column::kNumbers;
  const std::int64_t bag = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / team;
  if (bag >= arrays.bags) return;
  const auto* table = static_cast<const Load*>(arrays.table);
  const std::int64_t* numbers = arrays.numbers + bag * arrays.lookups;
  for (int column = static_cast<int>(threadIdx.x) % team; column < columns; column += team) {
    float sums[Column::kNumbers] = {};
    int i = 0;
    for (; i + kRowsAhead <= arrays.lookups; i += kRowsAhead) {
      Load rows[kRowsAhead];
#pragma unroll
      for (int r = 0; r < kRowsAhead; ++r) rows[r] = table[numbers[i + r] * columns + column];
#pragma unroll
      for (int r = 0; r < kRowsAhead; ++r) Column::add(sums, rows[r]);
    }
    for (; i < arrays.lookups; ++i) Column::add(sums, table[numbers[i] * columns + column]);
    float* out = arrays.sums + bag * arrays.dim + column * Column::kNumbers;
#pragma unroll
    for (int n = 0; n < Column::kNumbers; ++n) out[n] = sums[n];
  }
}

template <typename Column>
cudaError_t launch(cudaStream_t stream, const EmbeddingArrays& arrays) {
  const int columns = arrays.dim / Column::kNumbers;
  int team = 1;
  while (team < 32 && team < columns) team *= 2;
  const std::int64_t blocks = (arrays.bags * team + kThreads - 1) / kThreads;
  gather_kernel<Column><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(arrays, team);
  return cudaGetLastError();
}

__global__ void reference_kernel(EmbeddingArrays arrays, double* right) {
  const std::int64_t all = arrays.bags * arrays.dim;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += stride) {
    const std::int64_t bag = at / arrays.dim, d = at % arrays.dim;
    double sum = 0;
    for (int i = 0; i < arrays.lookups; ++i) {
      const std::int64_t place = arrays.numbers[bag * arrays.lookups + i] * arrays.dim + d;
      sum += arrays.narrow ? static_cast<double>(__half2float(static_cast<const __half*>(arrays.table)[place]))
                           : static_cast<double>(static_cast<const float*>(arrays.table)[place]);
    }
    right[at] = sum;
  }
}

}  // namespace

cudaError_t launch_gather_sums(cudaStream_t stream, const EmbeddingArrays& arrays) {
  if (arrays.narrow) {
    return arrays.dim % EightHalves::kNumbers == 0 ? launch<EightHalves>(stream, arrays)
                                                   : launch<One<__half>>(stream, arrays);
  }
  return arrays.dim % FourFloats::kNumbers == 0 ? launch<FourFloats>(stream, arrays)
                                                : launch<One<float>>(stream, arrays);
}

cudaError_t launch_reference_sums(cudaStream_t stream, const EmbeddingArrays& arrays, double* right) {
  const std::int64_t blocks = std::min<std::int64_t>((arrays.bags * arrays.dim + kThreads - 1) / kThreads, 1 << 16);
  reference_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(arrays, right);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
