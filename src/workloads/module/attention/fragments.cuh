// What the fused attention kernels share: the online softmax on matrix-multiply accumulators, conversions and stores.
// An accumulator holds, for two rows of each thread (r = 0, 1), columns 8 j + 2 (lane % 4) + {0, 1} at
// [4 j + 2 r + {0, 1}]: the layout of both mma.sync m16n8 and wgmma (PTX ISA, matrix fragments). Online softmax:
// Milakov and Gimelshein, 2018 (arXiv:1805.02867).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

namespace warpmark::workloads::fragments {

template <typename T>
inline constexpr bool kIsHalf = sizeof(T) == 0;
template <>
inline constexpr bool kIsHalf<__half> = true;
template <>
inline constexpr bool kIsHalf<__nv_bfloat16> = false;

__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <typename T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t packed;
  if constexpr (kIsHalf<T>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xFFFFFFFF, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xFFFFFFFF, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFF, x, 2);
}

/// The running maximum and sum of two rows. The maximum moves only when a score exceeds it by more than kHeadroom (as a
/// power of two), as in FlashAttention-4: until then weights may be up to 2^kHeadroom, which costs no precision in
/// floating point, and earlier outputs need no correction.
struct Softmax {
  static constexpr float kHeadroom = 8;
  static constexpr float kNothing = -1e30F;  ///< less than any score: nothing seen yet
  float maximum[2] = {kNothing, kNothing};   ///< times scale_log2
  float sum[2] = {0, 0};                     ///< over this thread's own columns
  float correction[2] = {1, 1};              ///< by which the earlier output has to be multiplied, if moved
  bool moved = false;                        ///< the same in all threads of the warp

  /// Replaces scores by 2^(scale_log2 score - maximum) and accumulates them. Masked scores, -infinity, become 0.
  template <int kCount>
  __device__ __forceinline__ void update(float (&scores)[kCount], float scale_log2) {
    float top[2] = {scores[0], scores[2]};
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
#pragma unroll
      for (int r = 0; r < 2; ++r) top[r] = fmaxf(top[r], fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
    }
    const bool exceeds =
        fmaf(top[0], scale_log2, -maximum[0]) > kHeadroom || fmaf(top[1], scale_log2, -maximum[1]) > kHeadroom;
    moved = __any_sync(0xFFFFFFFF, exceeds);
    if (moved) move(top, scale_log2);
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& score = scores[4 * j + i];
        score = power_of_two(fmaf(score, scale_log2, -maximum[i / 2]));
        sum[i / 2] += score;
      }
    }
  }

 private:
  __device__ __forceinline__ void move(const float (&top)[2], float scale_log2) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float next = fmaxf(maximum[r], quad_max(top[r]) * scale_log2);
      correction[r] = power_of_two(maximum[r] - next);
      maximum[r] = next;
      sum[r] *= correction[r];
    }
  }
};

/// Scores at keys from `sequence` on, and where kCausal after the row, become -infinity. `row` is the first of the
/// thread's two rows.
template <bool kCausal, int kCount>
__device__ __forceinline__ void mask(float (&scores)[kCount], int first_key, int row, int sequence) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int end = (kCausal ? min(sequence, row + 8 * r + 1) : sequence) - first_key - 2 * (threadIdx.x % 4);
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (8 * j + c >= end) scores[4 * j + 2 * r + c] = -INFINITY;
      }
    }
  }
}

/// Two neighbouring groups of 8 accumulator columns are one A operand of 16 columns.
template <typename T, int kCount>
__device__ __forceinline__ void narrow(std::uint32_t (&operands)[kCount / 8][4], const float (&values)[kCount]) {
#pragma unroll
  for (int k = 0; k < kCount / 8; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) operands[k][i] = pack<T>(values[8 * k + 2 * i], values[8 * k + 2 * i + 1]);
  }
}

/// Element i of lane q becomes element q of lane i, within each four lanes.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&v)[4]) {
  const unsigned lane = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const std::uint32_t received = __shfl_xor_sync(0xFFFFFFFF, (lane & 1) != 0 ? v[i] : v[i + 1], 1);
    if ((lane & 1) != 0)
      v[i] = received;
    else
      v[i + 1] = received;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t received = __shfl_xor_sync(0xFFFFFFFF, (lane & 2) != 0 ? v[i] : v[i + 2], 2);
    if ((lane & 2) != 0)
      v[i] = received;
    else
      v[i + 2] = received;
  }
}

/// Writes output / sum of two rows, 16 bytes a thread. `to` is the first of them, `rows` how many rows from it exist.
template <typename T, int kCount>
__device__ __forceinline__ void store(T* to, int rows, const float (&output)[kCount], const Softmax& softmax) {
  constexpr int kDimension = kCount * 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float inverse = 1.0F / quad_sum(softmax.sum[r]);
#pragma unroll
    for (int group = 0; group < kDimension / 32; ++group) {
      std::uint32_t v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (4 * group + i) + 2 * r;
        v[i] = pack<T>(output[at] * inverse, output[at + 1] * inverse);
      }
      transpose_quad(v);
      if (8 * r < rows) {
        T* const place = to + 8 * r * kDimension + 32 * group + 8 * (threadIdx.x % 4);
        *reinterpret_cast<uint4*>(place) = make_uint4(v[0], v[1], v[2], v[3]);
      }
    }
  }
}

}  // namespace warpmark::workloads::fragments
