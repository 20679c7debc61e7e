// Fused attention for Hopper (sm_90a): softmax(Q K^T / sqrt(dim)) V without the S x S matrix in memory.
//
// One warpgroup copies tiles of K and V into a ring in shared memory (TMA); the others each own 64 query rows and
// multiply with wgmma. The output of the last tile is still being multiplied while a warpgroup does the softmax of
// the next; named barriers let the warpgroups take turns, so that one multiplies while another exponentiates. Method:
// Shah et al., "FlashAttention-3", 2024 (arXiv:2407.08608).
#pragma once

#include "workloads/module/attention/fragments.cuh"
#include "workloads/module/attention/wgmma.cuh"

namespace warpmark::workloads::hopper {

template <typename T, int kDimension, int kWarpgroups, int kKeys, int kStages, bool kCausal>
struct FlashShape {
  using Element = T;
  static constexpr int dimension = kDimension;
  static constexpr int warpgroups = kWarpgroups;  ///< that compute
  static constexpr int rows = 64 * kWarpgroups;   ///< queries of a tile
  static constexpr int keys = kKeys;              ///< keys of a tile
  static constexpr int stages = kStages;
  static constexpr bool causal = kCausal;
  static constexpr int threads = 128 * (kWarpgroups + 1);
  static constexpr int panels = kDimension / 64;  ///< 128-byte wide columns of a tile
  static constexpr int producer_registers = kWarpgroups == 3 ? 32 : 24;
  static constexpr int consumer_registers = kWarpgroups == 3 ? 160 : 240;
  static constexpr int query_elements = rows * kDimension;
  static constexpr int tile_elements = keys * kDimension;
};

template <typename Shape>
struct alignas(1024) FlashStorage {
  alignas(1024) typename Shape::Element query[Shape::query_elements];
  alignas(1024) typename Shape::Element key[Shape::stages][Shape::tile_elements];
  alignas(1024) typename Shape::Element value[Shape::stages][Shape::tile_elements];
  std::uint64_t query_full, query_empty;
  std::uint64_t key_full[Shape::stages], key_empty[Shape::stages];
  std::uint64_t value_full[Shape::stages], value_empty[Shape::stages];
};

struct FlashArguments {
  void* output;
  int sequence;
  int matrices;      ///< batch * heads
  int row_tiles;     ///< of one matrix
  int group;         ///< matrices that are worked on together (causal)
  float scale_log2;  ///< log2(e) / sqrt(dim): exponentials are powers of two
};

/// Matrices whose keys and values take about half of the L2 cache.
template <typename Shape>
constexpr int group_size(int sequence) {
  constexpr std::int64_t kBytes = 24 << 20;
  const std::int64_t each = std::int64_t{sequence} * Shape::dimension * 4;
  return each >= kBytes ? 1 : static_cast<int>(kBytes / each);
}

/// Position in the ring of stages, with the parity of its current round.
template <int kStages>
struct RingPosition {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  int matrix, first_row, key_tiles;
};

/// The tiles of one block, in turn. Blocks take tiles round by round, every other round backwards, so that long and
/// short tiles spread evenly.
template <typename Shape>
class TileWalk {
 public:
  __device__ __forceinline__ explicit TileWalk(const FlashArguments& arguments) : arguments_(arguments) {}

  __device__ __forceinline__ bool next(Tile& tile) {
    const int place = round_ % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
    const int index = round_ * static_cast<int>(gridDim.x) + place;
    ++round_;
    if (index >= arguments_.matrices * arguments_.row_tiles) return false;
    int row_tile = 0;
    if constexpr (Shape::causal) {
      // Longest first within a group of matrices whose keys and values share the L2 cache.
      const int first = index / (arguments_.group * arguments_.row_tiles) * arguments_.group;
      const int size = min(arguments_.group, arguments_.matrices - first);
      const int within = index - first * arguments_.row_tiles;
      row_tile = arguments_.row_tiles - 1 - within / size;
      tile.matrix = first + within % size;
    } else {
      // Whole tiles first; the rest of each matrix, with fewer rows, last.
      const int whole = arguments_.sequence / Shape::rows;
      const int wholes = whole * arguments_.matrices;
      row_tile = index < wholes ? index % whole : whole;
      tile.matrix = index < wholes ? index / whole : index - wholes;
    }
    tile.first_row = row_tile * Shape::rows;
    const int last_key = Shape::causal ? min(arguments_.sequence, tile.first_row + Shape::rows) : arguments_.sequence;
    tile.key_tiles = (last_key + Shape::keys - 1) / Shape::keys;
    return true;
  }

 private:
  const FlashArguments& arguments_;
  int round_ = 0;
};

template <typename Shape>
__device__ void produce(FlashStorage<Shape>& shared, const CUtensorMap* query_map, const CUtensorMap* key_map,
                        const CUtensorMap* value_map, const FlashArguments& arguments) {
  constexpr int tile_bytes = Shape::tile_elements * 2;
  RingPosition<Shape::stages> at;
  std::uint32_t query_parity = 0;
  TileWalk<Shape> walk(arguments);
  for (Tile tile; walk.next(tile);) {
    for (int n = tile.key_tiles - 1; n >= 0; --n) {
      barrier_wait(&shared.key_empty[at.stage], at.parity ^ 1);
      barrier_expect(&shared.key_full[at.stage], tile_bytes);
      for (int panel = 0; panel < Shape::panels; ++panel) {
        tensor_load(shared.key[at.stage] + panel * Shape::keys * 64, key_map, &shared.key_full[at.stage], panel * 64,
                    n * Shape::keys, tile.matrix);
      }
      if (n == tile.key_tiles - 1) {
        barrier_wait(&shared.query_empty, query_parity ^ 1);
        query_parity ^= 1;
        barrier_expect(&shared.query_full, Shape::query_elements * 2);
        for (int panel = 0; panel < Shape::panels; ++panel) {
          tensor_load(shared.query + panel * Shape::rows * 64, query_map, &shared.query_full, panel * 64,
                      tile.first_row, tile.matrix);
        }
      }
      barrier_wait(&shared.value_empty[at.stage], at.parity ^ 1);
      barrier_expect(&shared.value_full[at.stage], tile_bytes);
      for (int panel = 0; panel < Shape::panels; ++panel) {
        tensor_load(shared.value[at.stage] + panel * Shape::keys * 64, value_map, &shared.value_full[at.stage],
                    panel * 64, n * Shape::keys, tile.matrix);
      }
      at.advance();
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply_scores(float (&scores)[Shape::keys / 2], std::uint64_t query,
                                                const typename Shape::Element* key) {
  static_assert(Shape::keys == 128);
  const std::uint64_t keys = matrix_descriptor(key, 1024, 16);
  hold(scores);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < Shape::dimension / 16; ++k) {
    const int panel = k / 4;
    const int column = k % 4 * 32;  // bytes
    wgmma_m64n128k16<typename Shape::Element>(scores, query + ((panel * Shape::rows * 128 + column) >> 4),
                                              keys + ((panel * Shape::keys * 128 + column) >> 4), k > 0);
  }
  wgmma_commit();
  hold(scores);
}

template <typename Shape>
__device__ __forceinline__ void multiply_values(float (&output)[Shape::dimension / 2],
                                                std::uint32_t (&weights)[Shape::keys / 16][4],
                                                const typename Shape::Element* value) {
  const std::uint64_t values = matrix_descriptor(value, 1024, Shape::keys * 128);
  hold(output);
#pragma unroll
  for (int k = 0; k < Shape::keys / 16; ++k) hold(weights[k]);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < Shape::keys / 16; ++k) {
    if constexpr (Shape::dimension == 64) {
      wgmma_m64n64k16<typename Shape::Element>(output, weights[k], values + ((k * 2048) >> 4));
    } else {
      wgmma_m64n128k16<typename Shape::Element>(output, weights[k], values + ((k * 2048) >> 4));
    }
  }
  wgmma_commit();
  hold(output);
}

/// The warpgroups issue their multiplies in turn, so that one multiplies while another exponentiates.
class Turns {
 public:
  __device__ __forceinline__ Turns(int warpgroup, int warpgroups)
      : own_(1 + warpgroup), next_(1 + (warpgroup + 1) % warpgroups) {
    if (warpgroup == warpgroups - 1) pass();
  }
  __device__ __forceinline__ void take() const { named_sync(own_, 256); }
  __device__ __forceinline__ void pass() const { named_arrive(next_, 256); }

 private:
  int own_, next_;  ///< named barriers
};

/// One warpgroup's 64 rows: tile after tile.
template <typename Shape>
class Consumer {
 public:
  using Element = typename Shape::Element;
  __device__ __forceinline__ Consumer(FlashStorage<Shape>& shared, const FlashArguments& arguments, int warpgroup)
      : shared_(shared),
        arguments_(arguments),
        turns_(warpgroup, Shape::warpgroups),
        query_(matrix_descriptor(shared.query + warpgroup * 64 * 64, 1024, 16)),
        own_row_(warpgroup * 64) {}

  __device__ __forceinline__ void run() {
    TileWalk<Shape> walk(arguments_);
    for (Tile tile; walk.next(tile);) compute(tile);
  }

 private:
  __device__ __forceinline__ void arrive(std::uint64_t* barrier) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(barrier);
  }

  /// Passes a tile of keys that none of the own rows sees.
  __device__ __forceinline__ void skip() {
    barrier_wait(&shared_.key_full[at_.stage], at_.parity);
    turns_.take();
    turns_.pass();
    arrive(&shared_.key_empty[at_.stage]);
    barrier_wait(&shared_.value_full[at_.stage], at_.parity);
    arrive(&shared_.value_empty[at_.stage]);
    at_.advance();
  }

  __device__ __forceinline__ void compute(const Tile& tile) {
    const int first_row = tile.first_row + own_row_;
    const int row = first_row + static_cast<int>(threadIdx.x) / 32 % 4 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
    int n = tile.key_tiles - 1;
    barrier_wait(&shared_.query_full, query_parity_);
    query_parity_ ^= 1;
    int last = n;  // tile of keys that the own rows see
    if (Shape::causal) last = min(n, (first_row + 63) / Shape::keys);
    if (first_row >= arguments_.sequence) last = -1;
    for (; n > last; --n) skip();
    if (n < 0) return arrive(&shared_.query_empty);

    fragments::Softmax softmax;
    float scores[Shape::keys / 2];
    std::uint32_t weights[Shape::keys / 16][4];
    float output[Shape::dimension / 2];
#pragma unroll
    for (float& element : output) element = 0;
    const auto masked = [&] {
      const int end = (n + 1) * Shape::keys;
      if (end > arguments_.sequence || (Shape::causal && end - 1 > first_row)) {
        fragments::mask<Shape::causal>(scores, n * Shape::keys, row, arguments_.sequence);
      }
    };

    barrier_wait(&shared_.key_full[at_.stage], at_.parity);
    turns_.take();
    multiply_scores<Shape>(scores, query_, shared_.key[at_.stage]);
    turns_.pass();
    wgmma_wait<0>();
    hold(scores);
    arrive(&shared_.key_empty[at_.stage]);
    masked();
    softmax.update(scores, arguments_.scale_log2);
    fragments::narrow<Element>(weights, scores);

    for (--n; n >= 0; --n) {
      const RingPosition<Shape::stages> before = at_;
      at_.advance();
      barrier_wait(&shared_.key_full[at_.stage], at_.parity);
      turns_.take();
      multiply_scores<Shape>(scores, query_, shared_.key[at_.stage]);
      barrier_wait(&shared_.value_full[before.stage], before.parity);
      multiply_values<Shape>(output, weights, shared_.value[before.stage]);
      turns_.pass();
      wgmma_wait<1>();
      hold(scores);
      arrive(&shared_.key_empty[at_.stage]);
      masked();
      softmax.update(scores, arguments_.scale_log2);
      wgmma_wait<0>();
      hold(output);
      arrive(&shared_.value_empty[before.stage]);
      fragments::narrow<Element>(weights, scores);
      if (softmax.moved) {
#pragma unroll
        for (int i = 0; i < Shape::dimension / 2; ++i) output[i] *= softmax.correction[i / 2 % 2];
      }
    }
    arrive(&shared_.query_empty);

    barrier_wait(&shared_.value_full[at_.stage], at_.parity);
    multiply_values<Shape>(output, weights, shared_.value[at_.stage]);
    wgmma_wait<0>();
    hold(output);
    arrive(&shared_.value_empty[at_.stage]);
    at_.advance();
    auto* const to = static_cast<Element*>(arguments_.output) +
                     (static_cast<std::size_t>(tile.matrix) * arguments_.sequence + row) * Shape::dimension;
    fragments::store(to, arguments_.sequence - row, output, softmax);
  }

  FlashStorage<Shape>& shared_;
  const FlashArguments& arguments_;
  Turns turns_;
  std::uint64_t query_;
  int own_row_;
  RingPosition<Shape::stages> at_;
  std::uint32_t query_parity_ = 0;
};

template <typename Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    flash_hopper(const __grid_constant__ CUtensorMap query_map, const __grid_constant__ CUtensorMap key_map,
                 const __grid_constant__ CUtensorMap value_map, const FlashArguments arguments) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char bytes[];
  auto& shared = *reinterpret_cast<FlashStorage<Shape>*>(bytes);
  if (threadIdx.x == 0) {
    tensor_map_prefetch(&query_map);
    tensor_map_prefetch(&key_map);
    tensor_map_prefetch(&value_map);
    barrier_init(&shared.query_full, 1);
    barrier_init(&shared.query_empty, Shape::warpgroups);
    for (int stage = 0; stage < Shape::stages; ++stage) {
      barrier_init(&shared.key_full[stage], 1);
      barrier_init(&shared.key_empty[stage], Shape::warpgroups);
      barrier_init(&shared.value_full[stage], 1);
      barrier_init(&shared.value_empty[stage], Shape::warpgroups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    registers_shrink<Shape::producer_registers>();
    if (threadIdx.x == 0) produce<Shape>(shared, &query_map, &key_map, &value_map, arguments);
  } else {
    registers_grow<Shape::consumer_registers>();
    Consumer<Shape>(shared, arguments, static_cast<int>(threadIdx.x) / 128 - 1).run();
  }
#else
  __trap();  // launched on compute capability 9.0 only
#endif
}

}  // namespace warpmark::workloads::hopper
