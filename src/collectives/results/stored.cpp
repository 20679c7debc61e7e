#include "collectives/results/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/run_query.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

const std::optional<Placement>& placement(const Row& row, bool in_place) {
  return in_place ? row.in_place : row.out_of_place;
}

bool same_case(const Row& a, const Row& b) { return a.counts.bytes == b.counts.bytes && a.op == b.op; }

Params params_of(const Row& row, bool in_place, const std::string& engine) {
  Params params;
  params.set("bytes", row.counts.bytes);
  params.set("dtype", std::string(name_of(row.type)));
  if (info_of(row.kind).reduces) params.set("op", std::string(name_of(row.op)));
  if (info_of(row.kind).has_root) params.set("root", std::int64_t{row.root});
  params.set("ranks", std::int64_t{row.ranks});
  params.set("in_place", std::int64_t{in_place});
  params.set("engine", engine);
  return params;
}

Run run_of(const std::vector<Sweep>& rounds, const Row& row, bool in_place) {
  const std::string engine = rounds.front().head ? rounds.front().head->engine : "mpi";
  Run run{.id = {}, .workload = info_of(row.kind).id, .params = params_of(row, in_place, engine)};
  run.device = engine == "nccl" ? "cuda" : "cpu";
  run.mode = Mode::cold;
  run.outcome = Outcome::passed;
  run.converged = true;
  std::vector<double> times, bandwidths, skews;
  std::vector<std::int64_t> sizes, single;
  std::int64_t wrong = 0;
  bool checked = false;
  for (const auto& sweep : rounds) {
    for (const auto& other : sweep.rows) {
      const auto& place = placement(other, in_place);
      if (!same_case(other, row) || !place) continue;
      const double bus_bytes =
          algorithm_bytes(other.kind, other.counts, other.type, other.ranks) * bus_factor(other.kind, other.ranks);
      for (const double sample : place->samples_s) {
        times.push_back(sample);
        bandwidths.push_back(sample > 0 ? bus_bytes / sample : 0);
      }
      sizes.push_back(static_cast<std::int64_t>(place->samples_s.size()));
      skews.push_back(place->skew_s);
      single.push_back(1);
      checked = checked || place->wrong.has_value();
      wrong += place->wrong.value_or(0);
    }
  }
  run.rounds = static_cast<std::int64_t>(sizes.size());
  run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, std::move(times), sizes));
  run.metrics.push_back(stats::sampled_metric("bus_bandwidth", "B/s", Better::higher, std::move(bandwidths), sizes));
  run.metrics.push_back(stats::sampled_metric("rank_skew", "s", Better::lower, std::move(skews), single));
  run.timing.method = engine == "nccl" ? "cuda_event" : "clock_monotonic_raw";
  if (checked) {
    run.error = ErrorCheck{static_cast<double>(wrong), 0, "elements that differ", "exact values"};
    if (wrong > 0) {
      run.outcome = Outcome::failed;
      run.reason = fmt::format("{} elements are wrong", wrong);
    }
  }
  return run;
}

}  // namespace

std::vector<Run> runs_of(const std::vector<Sweep>& rounds) {
  std::vector<Run> runs;
  if (rounds.empty()) return runs;
  for (const auto& row : rounds.front().rows) {
    for (const bool in_place : {false, true}) {
      if (!placement(row, in_place)) continue;
      Run run = run_of(rounds, row, in_place);
      run.index = static_cast<std::int64_t>(runs.size());
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::map<std::pair<std::int64_t, bool>, double> baseline_of(const Session& session, const Row& like) {
  std::map<std::pair<std::int64_t, bool>, double> baseline;
  for (const auto& run : session.runs) {
    const Metric* metric = metric_of(run, "bus_bandwidth");
    if (run.workload != info_of(like.kind).id || metric == nullptr || !run.params.has("in_place")) continue;
    if (run.params.text("dtype") != name_of(like.type) || run.params.integer("ranks") != like.ranks) continue;
    if (run.params.has("op") && run.params.text("op") != name_of(like.op)) continue;
    baseline[{run.params.integer("bytes"), run.params.integer("in_place") != 0}] = metric->summary.median;
  }
  return baseline;
}

Sweep joined(const std::vector<Sweep>& rounds) {
  Sweep whole;
  if (rounds.empty()) return whole;
  whole = rounds.front();
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    whole.complete = whole.complete && rounds[round].complete;
    for (auto& row : whole.rows) {
      const auto other = std::find_if(rounds[round].rows.begin(), rounds[round].rows.end(),
                                      [&](const auto& item) { return same_case(item, row); });
      if (other == rounds[round].rows.end()) continue;
      for (const bool in_place : {false, true}) {
        auto& mine = in_place ? row.in_place : row.out_of_place;
        const auto& theirs = placement(*other, in_place);
        if (!mine || !theirs) continue;
        const auto n = static_cast<double>(round);
        mine->time_s = (mine->time_s * n + theirs->time_s) / (n + 1);
        mine->samples_s.insert(mine->samples_s.end(), theirs->samples_s.begin(), theirs->samples_s.end());
        mine->skew_s = std::max(mine->skew_s, theirs->skew_s);
        if (theirs->wrong) mine->wrong = mine->wrong.value_or(0) + *theirs->wrong;
        if (!theirs->wrong_ranks.empty()) mine->wrong_ranks = theirs->wrong_ranks;
      }
    }
  }
  return whole;
}

}  // namespace warpmark::collectives
