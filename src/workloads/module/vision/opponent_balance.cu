// opponent_balance in one kernel, one block an image: scores stay in registers, sums go by warp shuffles, and three
// barriers are all there is unless patches reach the cap. The tokens are split in exact integers as docs/workloads.md
// states; ranks are found while the shares are still being summed up, as the patches at the cap come first in rank.
#include "workloads/module/vision/rank.cuh"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads::vision {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / kWarp;
constexpr std::size_t kDefaultShared = 40 * 1024;  // of dynamic shared memory; more must be asked for

/// Threads of a block: `holders` of them, whole warps, hold the patches; all of them rank.
struct Layout {
  unsigned n;
  unsigned holders;
  std::int64_t all_extra;  ///< min(budget, 400 n) - 64 n
  [[nodiscard]] __device__ unsigned warps() const { return holders / kWarp; }
  [[nodiscard]] __device__ bool holds() const { return threadIdx.x < holders; }
  [[nodiscard]] __device__ unsigned patch_of(unsigned item) const { return threadIdx.x + item * holders; }
};

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0U, value, offset);
  return value;
}

/// tanh by one exponential; absolute error about 2e-7.
__device__ __forceinline__ float fast_tanh(float x) {
  const float e = __expf(-2.0F * fabsf(x));
  return copysignf(__fdividef(1.0F - e, 1.0F + e), x);
}

template <int kPair>
__device__ __forceinline__ float tension(const float (&z)[kPerspectives]) {
  constexpr auto kFirst = static_cast<float>(kTensionWeights[kPair][0]);
  constexpr auto kSecond = static_cast<float>(kTensionWeights[kPair][1]);
  constexpr auto kThird = static_cast<float>(kTensionWeights[kPair][2]);
  constexpr auto kBias = static_cast<float>(kTensionBias[kPair]);
  return fast_tanh(fmaf(z[0], kFirst, fmaf(z[1], kSecond, fmaf(z[2], kThird, kBias))));
}

__device__ __forceinline__ float balanced(const float (&z)[kPerspectives]) {
  const float t[kOpponentPairs] = {tension<0>(z), tension<1>(z), tension<2>(z)};
  const float e[kOpponentPairs] = {__expf(fabsf(t[0])), __expf(fabsf(t[1])), __expf(fabsf(t[2]))};
  const float r = __fdividef(fmaf(e[0], t[0], fmaf(e[1], t[1], e[2] * t[2])), e[0] + e[1] + e[2]);
  return fminf(fmaxf(r, -1.0F), 1.0F);
}

/// Of one warp's scores about its first: enough to merge them into the image's mean and variance.
struct Moments {
  float mean[kPerspectives];
  float count;
  float squares[kPerspectives];  ///< of the distances from the mean
  float unused;
};

/// One pass: distances are taken from the warp's first score, which is no further from the mean than the square root of
/// the count times the deviation, so that the cancellation costs at most a factor of the count in the last bits.
template <int kItems>
__device__ __forceinline__ Moments warp_moments(const Layout& layout, const float (&scores)[kItems][kPerspectives]) {
  unsigned mine = 0;
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) mine += layout.patch_of(i) < layout.n ? 1U : 0U;
  Moments moments{};
  moments.count = static_cast<float>(__reduce_add_sync(~0U, mine));
  const float inverse = __fdividef(1.0F, moments.count);
#pragma unroll
  for (int p = 0; p < kPerspectives; ++p) {
    const float origin = __shfl_sync(~0U, scores[0][p], 0);
    float sum = 0;
    float squares = 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const float distance = layout.patch_of(i) < layout.n ? scores[i][p] - origin : 0.0F;
      sum += distance;
      squares = fmaf(distance, distance, squares);
    }
    sum = warp_sum(sum);
    squares = warp_sum(squares);
    moments.mean[p] = fmaf(sum, inverse, origin);
    moments.squares[p] = fmaf(-sum * inverse, sum, squares);
  }
  return moments;
}

/// Standardizes the scores in place: the warps' moments are merged by each thread (Chan, Golub, LeVeque, "Algorithms
/// for computing the sample variance", 1983), about the first warp's mean.
template <int kItems>
__device__ __forceinline__ void standardize(const Layout& layout, float (&scores)[kItems][kPerspectives]) {
  __shared__ __align__(16) Moments shared[kMaxWarps];
  if (layout.holds()) {
    const Moments own = warp_moments<kItems>(layout, scores);
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = own;
  }
  __syncthreads();
  if (!layout.holds()) return;
  float sum[kPerspectives] = {};
  float squares[kPerspectives] = {};
#pragma unroll 8
  for (unsigned w = 0; w < layout.warps(); ++w) {
    const Moments warp = shared[w];
#pragma unroll
    for (int p = 0; p < kPerspectives; ++p) {
      const float distance = warp.mean[p] - shared[0].mean[p];
      sum[p] = fmaf(warp.count, distance, sum[p]);
      squares[p] += fmaf(warp.count * distance, distance, warp.squares[p]);
    }
  }
  const float inverse = __fdividef(1.0F, static_cast<float>(layout.n));
#pragma unroll
  for (int p = 0; p < kPerspectives; ++p) {
    const float mean = fmaf(sum[p], inverse, shared[0].mean[p]);
    const float variance = fmaf(-sum[p] * inverse, sum[p], squares[p]) * inverse;
    const float scale = rsqrtf(fmaxf(variance, 0.0F) + static_cast<float>(kVarianceEpsilon));
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) scores[i][p] = (scores[i][p] - mean) * scale;
  }
}

/// What is left for the patches below the cap.
struct Rest {
  std::int64_t extra;
  std::int64_t shares;
  [[nodiscard]] __device__ bool caps(unsigned share) const { return extra * share >= kExtraTokens * shares; }
  /// floor(extra * share / shares), below kExtraTokens: an estimate good to 1, then put right in integers.
  [[nodiscard]] __device__ unsigned part(unsigned share) const {
    const std::int64_t product = extra * share;
    const float ratio = __fdividef(static_cast<float>(extra), static_cast<float>(shares));
    auto estimate = static_cast<unsigned>(static_cast<float>(share) * ratio);
    if (estimate * shares > product) --estimate;
    if ((estimate + 1) * shares <= product) ++estimate;
    return estimate;
  }
};

/// One warp's shares: their sum below the cap, and its patches at the cap or, at first, its largest share. A sum fits
/// 32 bits: it has at most 8 x 32 shares of at most 2^21 + 1.
struct WarpShares {
  unsigned sum;
  unsigned other;
};

/// Patches at the cap, and what is left for the others.
struct Settled {
  Rest rest;
  unsigned capped;
};

/// The fixed point of capping, as token_split.cpp's settle, from the sum of all shares on. Two buffers take turns, so
/// that one barrier a turn is enough.
template <int kItems>
__device__ __noinline__ Settled settle_capped(const Layout& layout, Rest rest, const unsigned (&shares)[kItems]) {
  __shared__ WarpShares partial[2][kMaxWarps];
  for (unsigned turn = 0;; ++turn) {
    if (layout.holds()) {
      unsigned sum = 0;
      unsigned capped = 0;
#pragma unroll
      for (unsigned i = 0; i < kItems; ++i) {
        if (layout.patch_of(i) >= layout.n) continue;
        const bool cap = rest.caps(shares[i]);
        sum += cap ? 0 : shares[i];
        capped += cap ? 1 : 0;
      }
      sum = __reduce_add_sync(~0U, sum);
      capped = __reduce_add_sync(~0U, capped);
      if (threadIdx.x % kWarp == 0) partial[turn % 2][threadIdx.x / kWarp] = {sum, capped};
    }
    __syncthreads();
    std::int64_t sum = 0;
    unsigned capped = 0;
    for (unsigned w = 0; w < layout.warps(); ++w) {
      sum += partial[turn % 2][w].sum;
      capped += partial[turn % 2][w].other;
    }
    const Rest next{layout.all_extra - kExtraTokens * static_cast<std::int64_t>(capped), sum};
    if (next.extra == rest.extra) return {rest, capped};
    rest = next;
  }
}

/// Puts this warp's shares where summed_shares finds them after a barrier.
template <int kItems>
__device__ __forceinline__ void put_shares(const Layout& layout, const unsigned (&shares)[kItems],
                                           WarpShares* partial) {
  unsigned sum = 0;
  unsigned largest = 0;
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) {
    if (layout.patch_of(i) >= layout.n) continue;
    sum += shares[i];
    largest = max(largest, shares[i]);
  }
  sum = __reduce_add_sync(~0U, sum);
  largest = __reduce_max_sync(~0U, largest);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = {sum, largest};
}

template <int kItems>
__device__ __forceinline__ Settled settle(const Layout& layout, const unsigned (&shares)[kItems],
                                          const WarpShares* partial) {
  Rest rest{layout.all_extra, 0};
  unsigned largest = 0;
#pragma unroll 8
  for (unsigned w = 0; w < layout.warps(); ++w) {
    const WarpShares warp = partial[w];
    rest.shares += warp.sum;
    largest = max(largest, warp.other);
  }
  if (rest.caps(largest)) return settle_capped<kItems>(layout, rest, shares);
  return {rest, 0};
}

/// kLanes threads rank one patch together.
template <int kItems, unsigned kLanes>
__global__ void __launch_bounds__(kMaxThreads)
    opponent_balance_kernel(const float* __restrict__ scores, float* __restrict__ relevance_out,
                            std::int32_t* __restrict__ tokens_out, Layout layout) {
  extern __shared__ __align__(16) std::uint32_t keys[];
  __shared__ WarpShares share_sums[kMaxWarps];
  __shared__ unsigned part_sums[kMaxWarps];
  const unsigned chunks = chunks_of(layout.n);
  unsigned* ranks = keys + chunks * kChunk;
  const std::size_t image = blockIdx.x;
  scores += image * kPerspectives * layout.n;
  relevance_out += image * layout.n;
  tokens_out += image * layout.n;

  float z[kItems][kPerspectives] = {};
  if (layout.holds()) {
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
#pragma unroll
      for (unsigned p = 0; p < kPerspectives; ++p) {
        if (layout.patch_of(i) < layout.n) z[i][p] = __ldg(scores + p * layout.n + layout.patch_of(i));
      }
    }
  }
  standardize<kItems>(layout, z);
  unsigned shares[kItems] = {};
  if (layout.holds()) {
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned patch = layout.patch_of(i);
      const float relevance = balanced(z[i]);
      shares[i] = static_cast<unsigned>(token_share(relevance));
      if (patch < layout.n) relevance_out[patch] = relevance;
      if (patch < chunks * kChunk) keys[patch] = patch < layout.n ? descending_key(relevance) : kNoKey;
    }
    put_shares<kItems>(layout, shares, share_sums);
  }
  __syncthreads();
  const Settled settled = settle<kItems>(layout, shares, share_sums);
  unsigned parts[kItems];
  if (layout.holds()) {
    unsigned given = 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const bool open = layout.patch_of(i) < layout.n && !settled.rest.caps(shares[i]);
      parts[i] = open ? settled.rest.part(shares[i]) : static_cast<unsigned>(kExtraTokens);
      given += open ? parts[i] : 0U;
    }
    given = __reduce_add_sync(~0U, given);
    if (threadIdx.x % kWarp == 0) part_sums[threadIdx.x / kWarp] = given;
  }
  const unsigned lane = threadIdx.x % kLanes;
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) {
    const unsigned patch = threadIdx.x / kLanes + i * layout.holders;
    unsigned rank = 0;
    if (patch < layout.n) rank = keys_before<kLanes>(keys, chunks, patch, keys[patch], lane);
    rank = lanes_sum<kLanes>(rank);
    if (lane == 0 && patch < layout.n) ranks[patch] = rank;
  }
  __syncthreads();
  if (!layout.holds()) return;
  std::int64_t left = settled.rest.extra;
#pragma unroll 8
  for (unsigned w = 0; w < layout.warps(); ++w) left -= part_sums[w];
    // One more for the most relevant below the cap.
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) {
    const unsigned patch = layout.patch_of(i);
    if (patch >= layout.n) continue;
    const unsigned place = ranks[patch] - settled.capped;  // wraps, and so is too large, at the cap
    const bool one_more = place < layout.n && place < left;
    tokens_out[patch] = static_cast<std::int32_t>(kMinTokens + parts[i] + (one_more ? 1 : 0));
  }
}

}  // namespace

cudaError_t launch_opponent_balance(cudaStream_t stream, const BalanceShape& shape, const BalanceBuffers& buffers) {
  const auto n = static_cast<unsigned>(shape.n);
  const std::int64_t usable = shape.budget < kMaxTokens * shape.n ? shape.budget : kMaxTokens * shape.n;
  const unsigned whole_warps = (n + kWarp - 1) / kWarp * kWarp;
  const Layout layout{.n = n,
                      .holders = whole_warps < kMaxThreads ? whole_warps : kMaxThreads,
                      .all_extra = usable - kMinTokens * shape.n};
  const auto start = [&](auto kernel, unsigned lanes) {
    const std::size_t bytes = (chunks_of(n) * kChunk + n) * sizeof(std::uint32_t);  // keys and ranks
    if (bytes > kDefaultShared) {
      constexpr auto kMost = static_cast<int>(2 * kMaxPatchesOnGpu * sizeof(std::uint32_t));
      (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost);
    }
    const auto blocks = static_cast<unsigned>(shape.batch);
    kernel<<<blocks, layout.holders * lanes, bytes, stream>>>(buffers.scores, buffers.relevance, buffers.tokens,
                                                              layout);
  };
  if (n <= kMaxThreads / 2) {
    start(opponent_balance_kernel<1, 2>, 2);
  } else if (n <= kMaxThreads) {
    start(opponent_balance_kernel<1, 1>, 1);
  } else if (n <= 2 * kMaxThreads) {
    start(opponent_balance_kernel<2, 1>, 1);
  } else if (n <= 4 * kMaxThreads) {
    start(opponent_balance_kernel<4, 1>, 1);
  } else {
    start(opponent_balance_kernel<8, 1>, 1);
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
