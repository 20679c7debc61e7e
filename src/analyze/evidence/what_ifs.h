// Changes of the recorded program whose replay tells what a cause costs: without waits, allocations, updates one by
// one, or dispatching.
#pragma once

#include <vector>

#include "analyze/evidence/facts.h"
#include "analyze/replay/replay.h"

namespace warpmark::analyze {

/// A program change for the replay, one element a rank. Composable: fixes multiply their factors into it.
struct Change {
  std::vector<WhatIf> ranks;
  explicit Change(const Facts& facts) : ranks(facts.ranks.size()) {}
};

/// Speedup of the step if all of `change` is done; 1 if nothing could be replayed.
[[nodiscard]] double speedup_of(const Facts& facts, const Change& change);

/// The host waits for the GPU within the step, and reads values.
void drop_waits(const Facts& facts, double success, Change& change);
/// Memory is allocated and freed within the step.
void drop_allocations(const Facts& facts, double success, Change& change);
/// Parameters are updated one by one: all together.
void update_together(const Facts& facts, double success, Change& change);
/// `share` of what the host does to dispatch.
void drop_dispatch(double share, Change& change);
/// Speedup with no dispatching at all.
[[nodiscard]] double without_dispatch(const Facts& facts);

/// What is left of a factor where so much of the fix succeeds: all of it leaves `left`.
[[nodiscard]] constexpr double scaled(double left, double success) { return 1.0 - success * (1.0 - left); }
/// The columns of a change, filled with 1 where they are empty.
void open_columns(const RankEvidence& rank, WhatIf& change);
/// Scales the durations of an owner's works in the replay of every rank.
void shrink_owned(const Facts& facts, Owner owner, double success, Change& change);

}  // namespace warpmark::analyze
