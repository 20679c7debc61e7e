// A sweep as Runs, so that the store, compare, check, trend and accept know it. Pure.
#pragma once

#include <vector>

#include "collectives/results/row.h"
#include "collectives/results/verdict.h"
#include "model/run.h"

namespace warpmark::collectives {

/// One run a size and placement, in order. `rounds` are sweeps of one plan, each in fresh processes; a size counts with
/// the rounds that measured it.
[[nodiscard]] std::vector<Run> runs_of(const std::vector<Sweep>& rounds);

/// Median bus bandwidths of the runs of a session that are of this collective, type, op and number of ranks.
[[nodiscard]] std::map<std::pair<std::int64_t, bool>, double> baseline_of(const Session& session, const Row& like);

/// Rounds as one sweep, for what is shown: samples joined, times their means.
[[nodiscard]] Sweep joined(const std::vector<Sweep>& rounds);

}  // namespace warpmark::collectives
