// opponent_balance in one kernel, one block an image: scores stay in registers, sums go by warp shuffles and one barrier
// each, and the tokens are split in exact integers as docs/workloads.md states.
#include "workloads/module/vision/rank.cuh"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads::vision {
namespace {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
constexpr int kMaxWarps = kMaxThreads / kWarp;

/// Sums of kCount values over the block, the same in every thread and every run. Two buffers take turns, so that one
/// barrier a sum is enough.
template <typename Value, int kCount>
struct BlockSum {
  Value partial[2][kMaxWarps][kCount];
};

__device__ __forceinline__ float warp_sum(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0U, value, offset);
  return value;
}

/// A warp's sum must fit 32 bits: 32 lanes of at most 8 shares of at most 2^21 + 1 do.
__device__ __forceinline__ unsigned warp_sum(unsigned value) { return __reduce_add_sync(~0U, value); }

template <typename Total, typename Value, int kCount>
__device__ __forceinline__ void block_sum(BlockSum<Value, kCount>& shared, int turn, const Value (&values)[kCount],
                                          Total (&totals)[kCount]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Value sum = warp_sum(values[i]);
    if (threadIdx.x % kWarp == 0) shared.partial[turn % 2][warp][i] = sum;
  }
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
#pragma unroll
  for (int i = 0; i < kCount; ++i) totals[i] = 0;
#pragma unroll 8
  for (int w = 0; w < warps; ++w) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) totals[i] += static_cast<Total>(shared.partial[turn % 2][w][i]);
  }
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

/// What is left for the patches below the cap.
struct Rest {
  std::int64_t extra;
  std::int64_t shares;
  [[nodiscard]] __device__ bool caps(std::int64_t share) const { return extra * share >= kExtraTokens * shares; }
  /// floor(extra * share / shares), below kExtraTokens: an estimate good to 1, then put right in integers.
  [[nodiscard]] __device__ int part(std::int64_t share) const {
    const std::int64_t product = extra * share;
    int estimate = static_cast<int>(static_cast<float>(product) / static_cast<float>(shares));
    if (estimate * shares > product) --estimate;
    if ((estimate + 1) * shares <= product) ++estimate;
    return estimate;
  }
};

struct BalanceSizes {
  int n;
  std::int64_t all_extra;  ///< min(budget, 400 n) - 64 n
};

/// Patch of item `i` of this thread.
__device__ __forceinline__ int patch_of(int i) { return static_cast<int>(threadIdx.x + i * blockDim.x); }

/// Standardized and balanced. Patches beyond n get no meaning.
template <int kItems>
__device__ __forceinline__ void find_relevance(const float* __restrict__ scores, int n, float (&relevance)[kItems]) {
  __shared__ BlockSum<float, kPerspectives> sums;
  float z[kItems][kPerspectives];
  float sum[kPerspectives] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
#pragma unroll
    for (int p = 0; p < kPerspectives; ++p) {
      z[i][p] = patch_of(i) < n ? __ldg(scores + p * n + patch_of(i)) : 0.0F;
      sum[p] += z[i][p];
    }
  }
  float total[kPerspectives];
  block_sum(sums, 0, sum, total);
  const float inverse_count = 1.0F / static_cast<float>(n);
  float squares[kPerspectives] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
#pragma unroll
    for (int p = 0; p < kPerspectives; ++p) {
      z[i][p] -= total[p] * inverse_count;
      if (patch_of(i) < n) squares[p] = fmaf(z[i][p], z[i][p], squares[p]);
    }
  }
  block_sum(sums, 1, squares, total);
  float scale[kPerspectives];
#pragma unroll
  for (int p = 0; p < kPerspectives; ++p) {
    scale[p] = rsqrtf(fmaf(total[p], inverse_count, static_cast<float>(kVarianceEpsilon)));
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
#pragma unroll
    for (int p = 0; p < kPerspectives; ++p) z[i][p] *= scale[p];
    relevance[i] = balanced(z[i]);
  }
}

/// The fixed point of capping, as token_split.cpp's settle.
template <int kItems>
__device__ __forceinline__ Rest settle(const BalanceSizes& sizes, const unsigned (&shares)[kItems]) {
  __shared__ BlockSum<unsigned, 2> sums;  // shares below the cap, patches at the cap
  Rest rest{sizes.all_extra, 0};
  for (int turn = 0;; ++turn) {
    unsigned mine[2] = {};
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (patch_of(i) >= sizes.n) continue;
      const bool capped = turn > 0 && rest.caps(shares[i]);
      mine[0] += capped ? 0 : shares[i];
      mine[1] += capped ? 1 : 0;
    }
    std::int64_t total[2];
    block_sum(sums, turn, mine, total);
    const Rest next{sizes.all_extra - kExtraTokens * total[1], total[0]};
    if (turn > 0 && next.extra == rest.extra) return rest;
    rest = next;
  }
}

template <int kItems>
__global__ void __launch_bounds__(kMaxThreads)
    opponent_balance_kernel(const float* __restrict__ scores, float* __restrict__ relevance_out,
                            std::int32_t* __restrict__ tokens_out, BalanceSizes sizes) {
  extern __shared__ __align__(16) std::uint32_t keys[];
  __shared__ BlockSum<unsigned, 1> part_sums;
  const std::size_t image = blockIdx.x;
  float relevance[kItems];
  find_relevance<kItems>(scores + image * kPerspectives * sizes.n, sizes.n, relevance);

  unsigned shares[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) shares[i] = static_cast<unsigned>(token_share(relevance[i]));
  const Rest rest = settle<kItems>(sizes, shares);

  int tokens[kItems];
  std::uint32_t key[kItems];
  unsigned parts[1] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool open = patch_of(i) < sizes.n && !rest.caps(shares[i]);
    const int part = open ? rest.part(shares[i]) : static_cast<int>(kExtraTokens);
    key[i] = open ? descending_key(relevance[i]) : kNoKey;
    tokens[i] = static_cast<int>(kMinTokens) + part;
    parts[0] += open ? static_cast<unsigned>(part) : 0U;
    if (patch_of(i) < (sizes.n + 3) / 4 * 4) keys[patch_of(i)] = key[i];
  }
  std::int64_t given[1];
  block_sum(part_sums, 0, parts, given);  // its barrier also makes the keys visible
  const std::int64_t left = rest.extra - given[0];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (patch_of(i) >= sizes.n) continue;
    if (left > 0 && key[i] != kNoKey) {
      const int rank = keys_before(keys, (sizes.n + 3) / 4 * 4, patch_of(i), key[i], 0, 1);
      tokens[i] += rank < left ? 1 : 0;
    }
    relevance_out[image * sizes.n + patch_of(i)] = relevance[i];
    tokens_out[image * sizes.n + patch_of(i)] = tokens[i];
  }
}

}  // namespace

cudaError_t launch_opponent_balance(cudaStream_t stream, const BalanceShape& shape, const BalanceBuffers& buffers) {
  const int n = static_cast<int>(shape.n);
  const std::int64_t usable = shape.budget < kMaxTokens * n ? shape.budget : kMaxTokens * n;
  const BalanceSizes sizes{.n = n, .all_extra = usable - kMinTokens * n};
  const int rounded = (n + kWarp - 1) / kWarp * kWarp;
  const auto threads = static_cast<unsigned>(rounded < kMaxThreads ? rounded : kMaxThreads);
  const auto blocks = static_cast<unsigned>(shape.batch);
  const std::size_t bytes = static_cast<std::size_t>((n + 3) / 4 * 4) * sizeof(std::uint32_t);
  const auto start = [&](auto kernel) {
    kernel<<<blocks, threads, bytes, stream>>>(buffers.scores, buffers.relevance, buffers.tokens, sizes);
  };
  if (n <= kMaxThreads) {
    start(opponent_balance_kernel<1>);
  } else if (n <= 2 * kMaxThreads) {
    start(opponent_balance_kernel<2>);
  } else if (n <= 4 * kMaxThreads) {
    start(opponent_balance_kernel<4>);
  } else {
    start(opponent_balance_kernel<8>);
  }
  return cudaGetLastError();
}

}  // namespace warpmark::workloads::vision
