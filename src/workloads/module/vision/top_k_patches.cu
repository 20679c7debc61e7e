// top_k_patches in one kernel: a block ranks all patches of its image by counting in shared memory, and copies the rows
// of its share of the k ranks. An image is split over as many blocks as fill the GPU once; each of them ranks anew,
// which costs less than another launch.
#include <algorithm>

#include "workloads/module/vision/rank.cuh"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads::vision {
namespace {

constexpr unsigned kThreads = 1024;
constexpr unsigned kWarp = 32;
constexpr int kMaxSliceRanks = 4096;  // of one block, in shared memory

struct Slices {
  unsigned per_image;
  unsigned ranks;  ///< of one slice; the last may have fewer
};

struct Sizes {
  unsigned n;
  unsigned k;
  unsigned vectors;  ///< of a row
};

/// A warp a row, four loads a lane in flight before the first store.
template <typename Vector>
__device__ __forceinline__ void gather(const Vector* __restrict__ features, Vector* __restrict__ out,
                                       const unsigned* picks, unsigned count, unsigned vectors) {
  constexpr unsigned kInFlight = 4;
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned rank = threadIdx.x / kWarp; rank < count; rank += kThreads / kWarp) {
    const Vector* from = features + static_cast<std::size_t>(picks[rank]) * vectors;
    Vector* to = out + static_cast<std::size_t>(rank) * vectors;
    for (unsigned base = lane; base < vectors; base += kInFlight * kWarp) {
      Vector value[kInFlight];
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        if (base + i * kWarp < vectors) value[i] = __ldg(from + base + i * kWarp);
      }
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        if (base + i * kWarp < vectors) to[base + i * kWarp] = value[i];
      }
    }
  }
}

/// kLanes threads rank one patch together.
template <typename Vector, unsigned kLanes>
__global__ void __launch_bounds__(kThreads)
    top_k_kernel(const float* __restrict__ scores, const Vector* __restrict__ features,
                 std::int32_t* __restrict__ indices_out, Vector* __restrict__ features_out, Sizes sizes,
                 Slices slices) {
  extern __shared__ __align__(16) std::uint32_t keys[];
  const unsigned chunks = chunks_of(sizes.n);
  unsigned* picks = keys + chunks * kChunk;
  const unsigned image_index = blockIdx.x / slices.per_image;
  const std::size_t image = image_index;
  const unsigned first = (blockIdx.x - image_index * slices.per_image) * slices.ranks;
  const unsigned count = min(slices.ranks, sizes.k - first);
  scores += image * sizes.n;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < chunks * kChunk; i += kThreads) {
    keys[i] = i < sizes.n ? descending_key(__ldg(scores + i)) : kNoKey;
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % kLanes;
  // All lanes of a warp make the same number of rounds: the sum needs them together.
#pragma unroll 1
  for (unsigned base = 0; base < sizes.n; base += kThreads / kLanes) {
    const unsigned patch = base + threadIdx.x / kLanes;
    unsigned rank = 0;
    if (patch < sizes.n) rank = keys_before<kLanes>(keys, chunks, patch, keys[patch], lane);
    rank = lanes_sum<kLanes>(rank);
    const unsigned place = rank - first;  // wraps, and so is too large, below the slice
    if (lane == 0 && patch < sizes.n && place < count) {
      picks[place] = patch;
      indices_out[image * sizes.k + rank] = static_cast<std::int32_t>(patch);
    }
  }
  __syncthreads();
  gather(features + image * sizes.n * sizes.vectors, features_out + (image * sizes.k + first) * sizes.vectors, picks,
         count, sizes.vectors);
}

Slices slices_of(const PatchShape& shape, int multiprocessors) {
  constexpr std::int64_t kLeastRanks = 4;
  const std::int64_t wanted = std::max<std::int64_t>(multiprocessors / shape.batch, 1);
  const std::int64_t useful = std::max<std::int64_t>(shape.k / kLeastRanks, 1);
  const std::int64_t needed = (shape.k + kMaxSliceRanks - 1) / kMaxSliceRanks;
  const std::int64_t slices = std::max(std::min(wanted, useful), needed);
  const std::int64_t ranks = (shape.k + slices - 1) / slices;
  return {.per_image = static_cast<unsigned>((shape.k + ranks - 1) / ranks), .ranks = static_cast<unsigned>(ranks)};
}

template <typename Vector>
void launch(cudaStream_t stream, const PatchShape& shape, const PatchBuffers& buffers, const Slices& slices) {
  const Sizes sizes{.n = static_cast<unsigned>(shape.n),
                    .k = static_cast<unsigned>(shape.k),
                    .vectors = static_cast<unsigned>(shape.row_bytes() / sizeof(Vector))};
  const auto start = [&](auto kernel) {
    const std::size_t words = chunks_of(sizes.n) * kChunk + slices.ranks;
    const auto blocks = static_cast<unsigned>(shape.batch) * slices.per_image;
    kernel<<<blocks, kThreads, words * sizeof(std::uint32_t), stream>>>(
        buffers.scores, static_cast<const Vector*>(buffers.features), buffers.indices_out,
        static_cast<Vector*>(buffers.features_out), sizes, slices);
  };
  if (sizes.n <= kThreads / 16) {
    start(top_k_kernel<Vector, 16>);
  } else if (sizes.n <= kThreads / 4) {
    start(top_k_kernel<Vector, 4>);
  } else {
    start(top_k_kernel<Vector, 1>);
  }
}

}  // namespace

cudaError_t launch_top_k_patches(cudaStream_t stream, const PatchShape& shape, const PatchBuffers& buffers,
                                 int multiprocessors) {
  const Slices slices = slices_of(shape, multiprocessors);
  if (shape.row_bytes() % sizeof(uint4) == 0) {
    launch<uint4>(stream, shape, buffers, slices);
  } else if (shape.row_bytes() % sizeof(std::uint32_t) == 0) {
    launch<std::uint32_t>(stream, shape, buffers, slices);
  } else {
    launch<std::uint16_t>(stream, shape, buffers, slices);
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
