// Rows gathered and added up: a team of neighbouring threads has a bag, each thread some columns of 16 bytes, so that a
// row is read in whole lines. Four rows are asked for before the first is added, as each takes the memory's latency.
// Where a row lies is the business of `Rows`: row<Load>(i, columns) is the row of lookup i, as columns of Load.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "workloads/module/feeding/embedding_kernels.h"

namespace warpmark::workloads {

inline constexpr int kGatherThreads = 256;
inline constexpr int kRowsAhead = 4;

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

/// A table in one memory.
template <typename Number>
struct DirectRows {
  const void* table;
  const Number* numbers;
  template <typename Load>
  __device__ const Load* row(std::int64_t lookup, int columns) const {
    return static_cast<const Load*>(table) + static_cast<std::int64_t>(numbers[lookup]) * columns;
  }
};

/// `team` threads, a power of two up to a warp, have a bag.
template <typename Column, typename Rows>
__global__ void __launch_bounds__(kGatherThreads) gather_kernel(Rows rows, BagSums bags, int team) {
  using Load = typename Column::Load;
  const int columns = bags.dim / Column::kNumbers;
  const std::int64_t bag = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / team;
  if (bag >= bags.bags) return;
  const std::int64_t first = bag * bags.lookups;
  for (int column = static_cast<int>(threadIdx.x) % team; column < columns; column += team) {
    float sums[Column::kNumbers] = {};
    int i = 0;
    for (; i + kRowsAhead <= bags.lookups; i += kRowsAhead) {
      Load ahead[kRowsAhead];
#pragma unroll
      for (int r = 0; r < kRowsAhead; ++r) ahead[r] = rows.template row<Load>(first + i + r, columns)[column];
#pragma unroll
      for (int r = 0; r < kRowsAhead; ++r) Column::add(sums, ahead[r]);
    }
    for (; i < bags.lookups; ++i) Column::add(sums, rows.template row<Load>(first + i, columns)[column]);
    float* out = bags.sums + bag * bags.dim + column * Column::kNumbers;
#pragma unroll
    for (int n = 0; n < Column::kNumbers; ++n) out[n] = sums[n];
  }
}

template <typename Column, typename Rows>
cudaError_t gather(cudaStream_t stream, const Rows& rows, const BagSums& bags) {
  const int columns = bags.dim / Column::kNumbers;
  int team = 1;
  while (team < 32 && team < columns) team *= 2;
  const std::int64_t blocks = (bags.bags * team + kGatherThreads - 1) / kGatherThreads;
  gather_kernel<Column><<<static_cast<unsigned>(blocks), kGatherThreads, 0, stream>>>(rows, bags, team);
  return cudaGetLastError();
}

template <typename Rows>
cudaError_t gather_sums(cudaStream_t stream, const Rows& rows, const BagSums& bags) {
  if (bags.narrow) {
    return bags.dim % EightHalves::kNumbers == 0 ? gather<EightHalves>(stream, rows, bags)
                                                 : gather<One<__half>>(stream, rows, bags);
  }
  return bags.dim % FourFloats::kNumbers == 0 ? gather<FourFloats>(stream, rows, bags)
                                              : gather<One<float>>(stream, rows, bags);
}

/// The same in fp64, element by element, into `right`.
template <typename Rows>
__global__ void reference_kernel(Rows rows, BagSums bags, double* right) {
  const std::int64_t all = bags.bags * bags.dim;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += stride) {
    const std::int64_t bag = at / bags.dim, d = at % bags.dim;
    double sum = 0;
    for (int i = 0; i < bags.lookups; ++i) {
      const std::int64_t lookup = bag * bags.lookups + i;
      sum += bags.narrow ? static_cast<double>(__half2float(rows.template row<__half>(lookup, bags.dim)[d]))
                         : static_cast<double>(rows.template row<float>(lookup, bags.dim)[d]);
    }
    right[at] = sum;
  }
}

template <typename Rows>
cudaError_t reference_sums(cudaStream_t stream, const Rows& rows, const BagSums& bags, double* right) {
  const std::int64_t blocks =
      std::min<std::int64_t>((bags.bags * bags.dim + kGatherThreads - 1) / kGatherThreads, 1 << 16);
  reference_kernel<<<static_cast<unsigned>(blocks), kGatherThreads, 0, stream>>>(rows, bags, right);
  return cudaGetLastError();
}

}  // namespace warpmark::workloads
