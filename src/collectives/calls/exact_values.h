// Inputs whose reduction is exact in every order, so that a result is right or wrong and never "near enough": the idea
// of nccl-tests' verifiable inputs. An element depends on (salt, index, rank) only; whoever checks computes what all
// ranks had. Header only: the host and the CUDA module use the same functions.
//
//   sum   whole numbers whose total stays within what the type holds exactly (2^24 for f32, 256 for bf16); with more
//         ranks than that, only every k-th rank contributes to an element
//   avg   two ranks contribute, and their sum is a multiple of the number of ranks
//   prod  powers of two, and one factor of three
//   min, max, and everything that only moves: any whole number that the type holds
#pragma once

#include <cstdint>

#include "collectives/calls/operation.h"

namespace warpmark::collectives {

/// What fills element `index` of set `salt`. Plain data, also passed to kernels.
struct ExactInput {
  std::int64_t limit = 0;  ///< largest whole number up to which the type holds all
  bool has_sign = false;
  int ranks = 1;
  bool reduces = false;
  ReduceOp op = ReduceOp::sum;
};

[[nodiscard]] constexpr ExactInput exact_input(DataType type, bool reduces, ReduceOp op, int ranks) {
  std::int64_t limit = 0;
  switch (type) {
    case DataType::f64:
    case DataType::int64: limit = std::int64_t{1} << 30; break;
    case DataType::f32:
    case DataType::int32: limit = std::int64_t{1} << 24; break;
    case DataType::f16: limit = 2048; break;
    case DataType::bf16: limit = 256; break;
    case DataType::int8: limit = 120; break;
    case DataType::uint8: limit = 250; break;
  }
  return {limit, type != DataType::uint8, ranks, reduces, op};
}

[[nodiscard]] constexpr std::uint32_t mixed(std::uint64_t salt, std::uint64_t index, std::uint32_t rank) {
  std::uint64_t z = salt * 0x9E3779B97F4A7C15ULL + index * 0xBF58476D1CE4E5B9ULL + rank * 0x94D049BB133111EBULL;
  z = (z ^ (z >> 29)) * 0xD6E8FEB86659FD93ULL;
  return static_cast<std::uint32_t>(z >> 32);
}

/// The value rank `rank` has at `index`.
[[nodiscard]] constexpr std::int64_t exact_value(const ExactInput& input, std::uint64_t salt, std::uint64_t index,
                                                 int rank) {
  const auto random = mixed(salt, index, static_cast<std::uint32_t>(rank));
  const auto ranks = static_cast<std::uint64_t>(input.ranks);
  const auto turn = (index + static_cast<std::uint64_t>(rank)) % ranks;
  if (!input.reduces || input.op == ReduceOp::min || input.op == ReduceOp::max) {
    const auto value = static_cast<std::int64_t>(random % static_cast<std::uint32_t>(input.limit + 1));
    return input.reduces && input.has_sign && (random >> 31) != 0 ? -value : value;
  }
  if (input.op == ReduceOp::sum) {
    const std::uint64_t most =
        ranks < static_cast<std::uint64_t>(input.limit) ? ranks : static_cast<std::uint64_t>(input.limit);
    const std::uint64_t stride = (ranks + most - 1) / most;
    if (turn % stride != 0) return 0;
    const auto each =
        static_cast<std::uint32_t>(input.limit / static_cast<std::int64_t>((ranks + stride - 1) / stride));
    return static_cast<std::int64_t>(random % (each + 1));
  }
  if (input.op == ReduceOp::prod) {
    if (turn == 0) return 3;
    return turn <= 4 && (random & 1U) != 0 ? 2 : 1;
  }
  // avg: the ranks at turn 0 and 1 have a + b = ranks * k, everybody else nothing
  const auto shared = mixed(salt, index, 0xFFFFFFFFU);
  const std::int64_t times = input.limit / input.ranks;
  const std::int64_t total = input.ranks * (times > 0 ? static_cast<std::int64_t>(shared) % (times + 1) : 0);
  const std::int64_t first = input.ranks == 1 ? total : total / 2;
  if (turn == 0) return first;
  return turn == 1 ? total - first : 0;
}

/// The reduction of what all ranks have at `index`.
[[nodiscard]] constexpr std::int64_t exact_reduction(const ExactInput& input, std::uint64_t salt, std::uint64_t index) {
  std::int64_t result = exact_value(input, salt, index, 0);
  for (int rank = 1; rank < input.ranks; ++rank) {
    const std::int64_t value = exact_value(input, salt, index, rank);
    switch (input.op) {
      case ReduceOp::sum:
      case ReduceOp::avg: result += value; break;
      case ReduceOp::prod: result *= value; break;
      case ReduceOp::min: result = value < result ? value : result; break;
      case ReduceOp::max: result = value > result ? value : result; break;
    }
  }
  return input.op == ReduceOp::avg ? result / input.ranks : result;
}

/// Which element of which rank's input stands at `index` of a receive buffer, for what only moves.
struct Origin {
  int rank = 0;
  std::uint64_t index = 0;
  bool reduced = false;    ///< instead: the reduction at `index`
  bool untouched = false;  ///< instead: this rank's buffer is not written
};
/// `count` is Counts::parameter.
[[nodiscard]] constexpr Origin origin_of(Collective kind, std::uint64_t index, std::uint64_t count, int rank, int root,
                                         int ranks) {
  const auto own = static_cast<std::uint64_t>(rank);
  switch (kind) {
    case Collective::all_reduce: return {0, index, true, false};
    case Collective::reduce: return {0, index, true, rank != root};
    case Collective::reduce_scatter: return {0, own * count + index, true, false};
    case Collective::broadcast: return {root, index, false, false};
    case Collective::all_gather: return {static_cast<int>(index / count), index % count, false, false};
    case Collective::gather: return {static_cast<int>(index / count), index % count, false, rank != root};
    case Collective::scatter: return {root, own * count + index, false, false};
    case Collective::alltoall: return {static_cast<int>(index / count), own * count + index % count, false, false};
    case Collective::sendrecv: return {(rank + ranks - 1) % ranks, index, false, false};
  }
  return {};
}

}  // namespace warpmark::collectives
