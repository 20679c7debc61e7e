// Fused attention in f32 on the FMA units: the same walk over tiles of keys as the matrix-unit kernels, with the
// multiplications as register tiles. A block of 16 x 16 threads owns 64 queries; a thread owns 4 of them, every 16th
// key of a tile, and 4 of every 64 output columns.
#include "workloads/module/attention/fragments.cuh"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads {
namespace {

constexpr int kRows = 64;
constexpr int kThreads = 256;
constexpr int kPadding = 4;  ///< floats after each row: rows that 8 threads read together start in different banks

template <int kDimension>
struct Tiles {
  static constexpr int keys = kDimension == 64 ? 64 : 32;
  static constexpr int stride = kDimension + kPadding;
  static constexpr int weight_stride = keys + kPadding;
  float query[kRows][stride];
  float key[keys][stride];
  float value[keys][stride];
  float weights[kRows][weight_stride];
};

/// Rows first .. first + count of a [sequence, dimension] matrix; rows beyond `sequence` become zero.
template <int kDimension>
__device__ void load_rows(float (*to)[kDimension + kPadding], const float* from, int count, int first, int sequence) {
  for (int i = threadIdx.x; i < count * kDimension / 4; i += kThreads) {
    const int row = i / (kDimension / 4);
    const int column = i % (kDimension / 4) * 4;
    float4 v = make_float4(0, 0, 0, 0);
    if (first + row < sequence) {
      v = *reinterpret_cast<const float4*>(from + static_cast<std::size_t>(first + row) * kDimension + column);
    }
    *reinterpret_cast<float4*>(&to[row][column]) = v;
  }
}

__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

/// The maximum or sum over the 16 threads that share rows: half a warp.
__device__ __forceinline__ float half_warp_max(float x) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, step));
  return x;
}
__device__ __forceinline__ float half_warp_sum(float x) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, step);
  return x;
}

template <int kDimension, bool kCausal>
__global__ void __launch_bounds__(kThreads) flash_f32(const AttentionArguments arguments) {
  constexpr int kKeys = Tiles<kDimension>::keys;
  constexpr int kOwnKeys = kKeys / 16;
  constexpr int kGroups = kDimension / 64;  // of 4 output columns
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& tiles = *reinterpret_cast<Tiles<kDimension>*>(bytes);
  const int sequence = arguments.sequence;
  const int row_tiles = (sequence + kRows - 1) / kRows;
  const int first_row = (row_tiles - 1 - static_cast<int>(blockIdx.x) % row_tiles) * kRows;  // causal: longest first
  const std::size_t matrix = static_cast<std::size_t>(blockIdx.x) / row_tiles * sequence * kDimension;
  const int own_row = static_cast<int>(threadIdx.x) / 16 * 4;
  const int own_column = static_cast<int>(threadIdx.x) % 16;
  const int last_key = kCausal ? min(sequence, first_row + kRows) : sequence;

  load_rows<kDimension>(tiles.query, static_cast<const float*>(arguments.query) + matrix, kRows, first_row, sequence);
  float maximum[4], sum[4] = {}, output[4][kGroups][4] = {};
  for (float& m : maximum) m = -INFINITY;

  for (int first_key = 0; first_key < last_key; first_key += kKeys) {
    __syncthreads();
    load_rows<kDimension>(tiles.key, static_cast<const float*>(arguments.key) + matrix, kKeys, first_key, sequence);
    load_rows<kDimension>(tiles.value, static_cast<const float*>(arguments.value) + matrix, kKeys, first_key, sequence);
    __syncthreads();

    float scores[4][kOwnKeys] = {};
#pragma unroll 4
    for (int d = 0; d < kDimension; d += 4) {
      float4 q[4], k[kOwnKeys];
#pragma unroll
      for (int i = 0; i < 4; ++i) q[i] = *reinterpret_cast<const float4*>(&tiles.query[own_row + i][d]);
#pragma unroll
      for (int j = 0; j < kOwnKeys; ++j) k[j] = *reinterpret_cast<const float4*>(&tiles.key[own_column + 16 * j][d]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < kOwnKeys; ++j) scores[i][j] = dot(q[i], k[j], scores[i][j]);
      }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int end = kCausal ? min(sequence, first_row + own_row + i + 1) : sequence;
      float top = maximum[i];
#pragma unroll
      for (int j = 0; j < kOwnKeys; ++j) {
        if (first_key + own_column + 16 * j >= end) scores[i][j] = -INFINITY;
        top = fmaxf(top, scores[i][j]);
      }
      top = half_warp_max(top);
      const float correction = exp2f((maximum[i] - top) * arguments.scale_log2);
      maximum[i] = top;
      float total = 0;
#pragma unroll
      for (int j = 0; j < kOwnKeys; ++j) {
        const float weight = exp2f((scores[i][j] - top) * arguments.scale_log2);
        total += weight;
        tiles.weights[own_row + i][own_column + 16 * j] = weight;
      }
      sum[i] = fmaf(sum[i], correction, half_warp_sum(total));
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int c = 0; c < 4; ++c) output[i][g][c] *= correction;
      }
    }
    __syncwarp();  // the weights of 8 rows are written and read by the same warp

#pragma unroll 4
    for (int k = 0; k < kKeys; ++k) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const float4 v = *reinterpret_cast<const float4*>(&tiles.value[k][64 * g + 4 * own_column]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float weight = tiles.weights[own_row + i][k];
          output[i][g][0] = fmaf(weight, v.x, output[i][g][0]);
          output[i][g][1] = fmaf(weight, v.y, output[i][g][1]);
          output[i][g][2] = fmaf(weight, v.z, output[i][g][2]);
          output[i][g][3] = fmaf(weight, v.w, output[i][g][3]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + own_row + i;
    if (row >= sequence) continue;
    const float inverse = 1.0F / sum[i];
    float* const to = static_cast<float*>(arguments.output) + matrix + static_cast<std::size_t>(row) * kDimension;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const float* const o = output[i][g];
      *reinterpret_cast<float4*>(to + 64 * g + 4 * own_column) =
          make_float4(o[0] * inverse, o[1] * inverse, o[2] * inverse, o[3] * inverse);
    }
  }
}

template <int kDimension, bool kCausal>
cudaError_t launch(const AttentionArguments& arguments, cudaStream_t stream) {
  constexpr int kBytes = sizeof(Tiles<kDimension>);
  const auto kernel = flash_f32<kDimension, kCausal>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const int row_tiles = (arguments.sequence + kRows - 1) / kRows;
  kernel<<<arguments.matrices * row_tiles, kThreads, kBytes, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_flash_f32(const AttentionArguments& arguments, cudaStream_t stream) {
  if (arguments.dimension == 64) {
    return arguments.causal ? launch<64, true>(arguments, stream) : launch<64, false>(arguments, stream);
  }
  if (arguments.dimension == 128) {
    return arguments.causal ? launch<128, true>(arguments, stream) : launch<128, false>(arguments, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace warpmark::workloads
