// top_k_patches in one kernel: a block ranks all patches of its image by counting in shared memory, and copies the rows
// of its share of the k ranks. An image is split over as many blocks as fill the GPU once; each of them ranks anew, which
// costs less than another launch.
#include <algorithm>

#include "workloads/module/vision/rank.cuh"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads::vision {
namespace {

constexpr int kThreads = 1024;
constexpr int kMaxSliceRanks = 4096;  // of one block, in shared memory

struct Slices {
  int per_image;
  int ranks;  ///< of one slice; the last may have fewer
};

struct Sizes {
  int n;
  int keys;  ///< n rounded up to a multiple of 4
  int k;
  int vectors;  ///< of a row
  int lanes;    ///< threads that rank one patch together, a power of two up to 32
};

template <typename Vector>
__device__ __forceinline__ void gather(const Vector* __restrict__ features, Vector* __restrict__ out, const int* picks,
                                       int count, int vectors) {
  constexpr int kInFlight = 4;
  const int total = count * vectors;
  for (int base = static_cast<int>(threadIdx.x); base < total; base += kInFlight * kThreads) {
    Vector value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int at = base + i * kThreads;
      if (at >= total) break;
      const int rank = at / vectors;
      value[i] = __ldg(features + static_cast<std::size_t>(picks[rank]) * vectors + (at - rank * vectors));
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int at = base + i * kThreads;
      if (at < total) out[at] = value[i];
    }
  }
}

template <typename Vector>
__global__ void __launch_bounds__(kThreads)
    top_k_kernel(const float* __restrict__ scores, const Vector* __restrict__ features,
                 std::int32_t* __restrict__ indices_out, Vector* __restrict__ features_out, Sizes sizes, Slices slices) {
  extern __shared__ __align__(16) std::uint32_t shared[];
  std::uint32_t* keys = shared;
  int* picks = reinterpret_cast<int*>(shared + sizes.keys);
  const std::size_t image = blockIdx.x / slices.per_image;
  const int slice = static_cast<int>(blockIdx.x - image * slices.per_image);
  const int first = slice * slices.ranks;
  const int count = min(slices.ranks, sizes.k - first);
  for (int i = static_cast<int>(threadIdx.x); i < sizes.keys; i += kThreads) {
    keys[i] = i < sizes.n ? descending_key(__ldg(scores + image * sizes.n + i)) : kNoKey;
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % sizes.lanes;
  const int step = kThreads / sizes.lanes;
  // All lanes of a group, and so of a warp, make the same number of rounds: the sum needs them together.
  for (int base = 0; base < sizes.n; base += step) {
    const int patch = base + static_cast<int>(threadIdx.x) / sizes.lanes;
    int rank = 0;
    if (patch < sizes.n) rank = keys_before(keys, sizes.keys, patch, keys[patch], lane, sizes.lanes);
    for (int offset = sizes.lanes / 2; offset > 0; offset /= 2) rank += __shfl_xor_sync(~0U, rank, offset);
    if (lane == 0 && patch < sizes.n && rank >= first && rank < first + count) {
      picks[rank - first] = patch;
      indices_out[image * sizes.k + rank] = patch;
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
  const std::int64_t ranks = (shape.k + std::max(std::min(wanted, useful), needed) - 1) /
                             std::max(std::min(wanted, useful), needed);
  return {.per_image = static_cast<int>((shape.k + ranks - 1) / ranks), .ranks = static_cast<int>(ranks)};
}

template <typename Vector>
void launch(cudaStream_t stream, const PatchShape& shape, const PatchBuffers& buffers, const Slices& slices) {
  Sizes sizes{.n = static_cast<int>(shape.n),
              .keys = static_cast<int>((shape.n + 3) / 4 * 4),
              .k = static_cast<int>(shape.k),
              .vectors = static_cast<int>(shape.row_bytes() / sizeof(Vector)),
              .lanes = 1};
  while (sizes.lanes < 32 && 2 * sizes.lanes * sizes.n <= kThreads) sizes.lanes *= 2;
  const auto blocks = static_cast<unsigned>(shape.batch * slices.per_image);
  const std::size_t shared_bytes = static_cast<std::size_t>(sizes.keys + slices.ranks) * sizeof(std::uint32_t);
  top_k_kernel<Vector><<<blocks, kThreads, shared_bytes, stream>>>(
      buffers.scores, static_cast<const Vector*>(buffers.features), buffers.indices_out,
      static_cast<Vector*>(buffers.features_out), sizes, slices);
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
