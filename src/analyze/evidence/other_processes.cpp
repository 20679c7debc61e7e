// Source: NVML's utilization, the percentage of the last sample period (1/6 to 1 s) in which a kernel ran (nvml.h,
// nvmlUtilization_t). Recorded programs that were alone on an H100 agreed with it within 0.13 of their steps. It counts
// a GPU as busy that starts one kernel right after the other: seven launch-bound programs with up to 5 us between their
// kernels, which kept it busy for 0.2 to 0.8 of the time, were told 0.1 to 0.4 more.
#include "analyze/evidence/other_processes.h"

#include <algorithm>

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kSamplePeriodNs = 1'000'000'000 / 6;

/// Share of the steps in which the rank's GPU works for it, the gaps that are counted as work included.
double counted_share(const RankEvidence& rank) {
  std::int64_t gaps = 0;
  const std::span<const Interval> busy = rank.busy.intervals();
  for (std::size_t i = 1; i < busy.size(); ++i) {
    const bool within = busy[i - 1].end >= rank.steps.start() && busy[i].start <= rank.steps.end();
    const std::int64_t gap = busy[i].start - busy[i - 1].end;
    if (within && gap <= kLatencyNs) gaps += gap;
  }
  return static_cast<double>(rank.busy.covered(rank.steps.start(), rank.steps.end()) + gaps) /
         static_cast<double>(rank.steps.length());
}

}  // namespace

std::optional<double> mean_in_steps(const CounterSeries& series, std::int64_t origin_ns, const RankEvidence& rank) {
  double sum = 0;
  std::size_t samples = 0;
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    const std::int64_t time = series.times[i] + origin_ns - rank.timeline->origin_ns;
    const bool within = time - kSamplePeriodNs >= rank.steps.start() && time <= rank.steps.end();
    if (!within || !(series.values[i] >= 0)) continue;
    sum += series.values[i];
    ++samples;
  }
  if (samples < kFewest) return std::nullopt;
  return sum / static_cast<double>(samples);
}

std::optional<double> used_by_others(const ProfileSession& session, const RankEvidence& rank) {
  if (rank.steps.analyzed.empty()) return std::nullopt;
  std::optional<double> lowest;  // of all GPUs: programs number them as they are told to, the counters do not
  const auto take = [&](const std::vector<CounterSeries>& counters, std::int64_t origin_ns) {
    for (const CounterSeries& series : counters) {
      if (series.id != "gpu_utilization") continue;
      const auto mean = mean_in_steps(series, origin_ns, rank);
      if (mean) lowest = std::min(lowest.value_or(1.0), *mean);
    }
  };
  take(session.counters, 0);
  take(rank.timeline->counters, rank.timeline->origin_ns);
  if (!lowest) return std::nullopt;
  const double own = counted_share(rank);
  if (*lowest - own < kUtilizationDisagrees) return std::nullopt;
  return *lowest - own;
}

}  // namespace warpmark::analyze
