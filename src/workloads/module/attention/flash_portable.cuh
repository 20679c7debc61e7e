// Fused attention for compute capability 8.0 and newer: softmax(Q K^T / sqrt(dim)) V without the S x S matrix in
// memory.
//
// A block owns `rows` queries; its warps keep scores, weights and outputs in registers (mma.sync m16n8k16) and walk
// over tiles of keys. One buffer for K and one for V: while a tile's scores are computed its V arrives, and while its
// output is accumulated the next K does (cp.async). Method: Dao, "FlashAttention-2", 2023 (arXiv:2307.08691).
#pragma once

#include "workloads/module/attention/fragments.cuh"
#include "workloads/module/attention/kernels.h"

namespace warpmark::workloads::portable {

template <typename T, int kDimension, int kWarps, int kRowTiles, int kKeys, bool kCausal>
struct FlashShape {
  using Element = T;
  static constexpr int dimension = kDimension;
  static constexpr int warps = kWarps;
  static constexpr int row_tiles = kRowTiles;  ///< of 16 rows, a warp
  static constexpr int rows = 16 * kWarps * kRowTiles;
  static constexpr int keys = kKeys;
  static constexpr bool causal = kCausal;
  static constexpr int threads = 32 * kWarps;
  static constexpr int chunks = kDimension / 8;  ///< of 16 bytes, a row
  static constexpr int blocks = 8 / kWarps;      ///< that share a multiprocessor, at 255 registers a thread
  static constexpr int shared_bytes = (rows + 2 * keys) * kDimension * 2;
};

/// Offset in elements of 16-byte chunk `chunk` of `row`: chunks of 8 rows that ldmatrix reads together lie in different
/// banks.
template <int kChunks>
__device__ __forceinline__ int swizzled(int row, int chunk) {
  return (row * kChunks + (chunk ^ (row % 8))) * 8;
}

/// Starts copying rows first .. first + kRows of a [sequence, dimension] matrix; rows beyond `sequence` become zero.
template <typename Shape, int kRows>
__device__ __forceinline__ void copy_rows(typename Shape::Element* to, const typename Shape::Element* from, int first,
                                          int sequence) {
  static_assert(kRows * Shape::chunks % Shape::threads == 0);
#pragma unroll
  for (int i = 0; i < kRows * Shape::chunks / Shape::threads; ++i) {
    const int index = i * Shape::threads + static_cast<int>(threadIdx.x);
    const int row = index / Shape::chunks;
    const int chunk = index % Shape::chunks;
    const bool exists = first + row < sequence;
    const auto* source = from + static_cast<std::size_t>(exists ? first + row : 0) * Shape::dimension + chunk * 8;
    const auto target = static_cast<std::uint32_t>(__cvta_generic_to_shared(to + swizzled<Shape::chunks>(row, chunk)));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(exists ? 16 : 0));
  }
  asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

__device__ __forceinline__ void load_matrices(std::uint32_t (&m)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row))));
}
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&m)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row))));
}

/// d (16 x 8) += a (16 x 16) b (16 x 8).
template <typename T>
__device__ __forceinline__ void multiply(float* d, const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  if constexpr (fragments::kIsHalf<T>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

template <typename Shape>
using Scores = float[Shape::row_tiles][Shape::keys / 2];
template <typename Shape>
using Output = float[Shape::row_tiles][Shape::dimension / 2];

template <typename Shape>
__device__ __forceinline__ void multiply_scores(Scores<Shape>& scores, const typename Shape::Element* query,
                                                const typename Shape::Element* key, int warp_row) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < Shape::row_tiles; ++t) {
#pragma unroll
    for (float& score : scores[t]) score = 0;
  }
#pragma unroll
  for (int k = 0; k < Shape::dimension / 16; ++k) {
    std::uint32_t a[Shape::row_tiles][4];
#pragma unroll
    for (int t = 0; t < Shape::row_tiles; ++t) {
      load_matrices(a[t], query + swizzled<Shape::chunks>(warp_row + 16 * t + lane % 16, 2 * k + lane / 16));
    }
#pragma unroll
    for (int j = 0; j < Shape::keys / 16; ++j) {
      std::uint32_t b[4];
      load_matrices(b, key + swizzled<Shape::chunks>(16 * j + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
      for (int t = 0; t < Shape::row_tiles; ++t) {
        multiply<typename Shape::Element>(scores[t] + 8 * j, a[t], b[0], b[1]);
        multiply<typename Shape::Element>(scores[t] + 8 * j + 4, a[t], b[2], b[3]);
      }
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply_values(Output<Shape>& output, const Scores<Shape>& scores,
                                                const typename Shape::Element* value) {
  const int lane = threadIdx.x % 32;
  std::uint32_t weights[Shape::row_tiles][Shape::keys / 16][4];
#pragma unroll
  for (int t = 0; t < Shape::row_tiles; ++t) fragments::narrow<typename Shape::Element>(weights[t], scores[t]);
#pragma unroll
  for (int k = 0; k < Shape::keys / 16; ++k) {
#pragma unroll
    for (int j = 0; j < Shape::dimension / 16; ++j) {
      std::uint32_t b[4];
      load_matrices_transposed(b, value + swizzled<Shape::chunks>(16 * k + lane % 16, 2 * j + lane / 16));
#pragma unroll
      for (int t = 0; t < Shape::row_tiles; ++t) {
        multiply<typename Shape::Element>(output[t] + 8 * j, weights[t][k], b[0], b[1]);
        multiply<typename Shape::Element>(output[t] + 8 * j + 4, weights[t][k], b[2], b[3]);
      }
    }
  }
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks) flash_portable(const AttentionArguments arguments) {
  using Element = typename Shape::Element;
  extern __shared__ __align__(128) unsigned char bytes[];
  auto* const query = reinterpret_cast<Element*>(bytes);
  Element* const key = query + Shape::rows * Shape::dimension;
  Element* const value = key + Shape::keys * Shape::dimension;

  const int sequence = arguments.sequence;
  const int row_tiles = (sequence + Shape::rows - 1) / Shape::rows;
  const int first_row = (row_tiles - 1 - static_cast<int>(blockIdx.x) % row_tiles) * Shape::rows;  // longest first
  const std::size_t matrix = static_cast<std::size_t>(blockIdx.x) / row_tiles * sequence * Shape::dimension;
  const Element* const keys = static_cast<const Element*>(arguments.key) + matrix;
  const Element* const values = static_cast<const Element*>(arguments.value) + matrix;
  const int last_key = Shape::causal ? min(sequence, first_row + Shape::rows) : sequence;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16 * Shape::row_tiles;
  const int row = first_row + warp_row + static_cast<int>(threadIdx.x) % 32 / 4;

  fragments::Softmax softmax[Shape::row_tiles];
  Output<Shape> output = {};
  int n = (last_key + Shape::keys - 1) / Shape::keys - 1;
  copy_rows<Shape, Shape::rows>(query, static_cast<const Element*>(arguments.query) + matrix, first_row, sequence);
  copy_rows<Shape, Shape::keys>(key, keys, n * Shape::keys, sequence);
  for (; n >= 0; --n) {
    const int first_key = n * Shape::keys;
    wait_for_copies();
    __syncthreads();
    copy_rows<Shape, Shape::keys>(value, values, first_key, sequence);
    Scores<Shape> scores;
    multiply_scores<Shape>(scores, query, key, warp_row);
    wait_for_copies();
    __syncthreads();
    if (n > 0) copy_rows<Shape, Shape::keys>(key, keys, first_key - Shape::keys, sequence);
#pragma unroll
    for (int t = 0; t < Shape::row_tiles; ++t) {
      const int tile_row = row + 16 * t;
      if (first_key + Shape::keys > sequence || (Shape::causal && first_key + Shape::keys > first_row)) {
        fragments::mask<Shape::causal>(scores[t], first_key, tile_row, sequence);
      }
      softmax[t].update(scores[t], arguments.scale_log2);
      if (softmax[t].moved) {
#pragma unroll
        for (int i = 0; i < Shape::dimension / 2; ++i) output[t][i] *= softmax[t].correction[i / 2 % 2];
      }
    }
    multiply_values<Shape>(output, scores, value);
  }
#pragma unroll
  for (int t = 0; t < Shape::row_tiles; ++t) {
    const int tile_row = row + 16 * t;
    Element* const to =
        static_cast<Element*>(arguments.output) + matrix + static_cast<std::size_t>(tile_row) * Shape::dimension;
    fragments::store(to, sequence - tile_row, output[t], softmax[t]);
  }
}

}  // namespace warpmark::workloads::portable
