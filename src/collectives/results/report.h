// What a person reads of a sweep beside the table of nccl-tests. Pure.
#pragma once

#include "collectives/calls/plan.h"
#include "collectives/results/row.h"
#include "collectives/results/tuning.h"
#include "collectives/results/verdict.h"
#include "model/report.h"

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

}  // namespace warpmark::collectives
