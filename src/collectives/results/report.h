// What a person reads of a sweep beside the table of nccl-tests. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectives/calls/plan.h"
#include "collectives/results/row.h"
#include "collectives/results/tuning.h"
#include "collectives/results/verdict.h"
#include "model/report.h"
#include "model/run.h"

namespace warpmark::collectives {

/// Verdict, likely causes, spread and skew by size, bus bandwidth over size. `with_table` puts the table of nccl-tests
/// first, for formats that do not print it as it comes.
[[nodiscard]] Report build_report(const Plan& plan, const Sweep& sweep, const Judgement& judgement, bool with_table);

/// Settings side by side.
[[nodiscard]] Report build_report(const Plan& plan, const Tuning& tuning);

struct CollectiveResult {
  const Plan& plan;
  const Sweep& sweep;
  const Judgement& judgement;
};
extern const RecordOf<CollectiveResult> kCollectiveResult;
[[nodiscard]] Json to_json(const CollectiveResult& result);

struct TuningResult {
  const Plan& plan;
  const Tuning& tuning;
};
extern const RecordOf<TuningResult> kTuningResult;
[[nodiscard]] Json to_json(const TuningResult& result);

// The table of nccl-tests, column for column, so that what reads their output reads ours. Pure.

[[nodiscard]] std::string nccl_table_head(const Plan& plan, const Head& head);
[[nodiscard]] std::string nccl_table_row(const Row& row);
/// "# Out of bounds values : 0 OK" and the average bus bandwidth.
[[nodiscard]] std::string nccl_table_foot(const Plan& plan, const Sweep& sweep);

/// Mean over sizes and placements, as nccl-tests gives it; says little of a sweep over small sizes. B/s.
[[nodiscard]] double average_bus_bandwidth(const Sweep& sweep);
/// Elements of all sizes and placements.
[[nodiscard]] std::int64_t wrong_elements(const Sweep& sweep);

// A sweep as Runs, so that the store, compare, check, trend and accept know it. Pure.

/// One run a size and placement, in order. `rounds` are sweeps of one plan, each in fresh processes; a size counts with
/// the rounds that measured it.
[[nodiscard]] std::vector<Run> runs_of(const std::vector<Sweep>& rounds);

/// Median bus bandwidths of the runs of a session that are of this collective, type, op and number of ranks.
[[nodiscard]] std::map<std::pair<std::int64_t, bool>, double> baseline_of(const Session& session, const Row& like);

/// Rounds as one sweep, for what is shown: samples joined, times their means.
[[nodiscard]] Sweep joined(const std::vector<Sweep>& rounds);

}  // namespace warpmark::collectives
