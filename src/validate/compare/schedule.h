// In which order the variants run. Run after run of A and then of B takes every drift of the machine (heat, clocks, a
// neighbour) for a difference; a random order within each round takes it for noise. Pure: the order is a function of
// the seed, so an interrupted comparison goes on where it was.
#pragma once

#include <cstdint>
#include <vector>

#include "model/comparison.h"

namespace warpmark::validate {

struct Slot {
  int variant = 0;  ///< 0 is A, 1 is B
  std::int64_t round = 0;
  bool ends_round = false;  ///< both variants of the round are complete after it
};

struct Schedule {
  Interleave interleave = Interleave::pair;
  std::int64_t rounds = 30;  ///< at most
  std::uint64_t seed = 1;

  /// Number of runs of both variants.
  [[nodiscard]] std::int64_t slots() const;
  [[nodiscard]] Slot slot(std::int64_t index) const;
};

/// The variants of one round in order: {0, 1} shuffled, or {0, 0, 1, 1} shuffled for blocks.
[[nodiscard]] std::vector<int> round_order(Interleave interleave, std::uint64_t seed, std::int64_t round);

/// 0 .. n-1 in random order, the same for the same seed and round.
[[nodiscard]] std::vector<int> shuffled(int n, std::uint64_t seed, std::int64_t round);

}  // namespace warpmark::validate
