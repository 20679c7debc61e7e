#include "workloads/models/model_phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "stats/order_statistics.h"
#include "stats/sampled_metric.h"

namespace warpmark::workloads {
namespace {

constexpr double kPhasesAgree = 0.01;  // beyond the slowest and the fastest of the timed windows

constexpr std::size_t kMostSamples = 4096;  // a generation has one a word

/// As many of them as are kept, evenly from all of the time.
std::vector<double> thinned(std::vector<double> seconds) {
  if (seconds.size() <= kMostSamples) return seconds;
  std::vector<double> kept(kMostSamples);
  for (std::size_t i = 0; i < kMostSamples; ++i) kept[i] = seconds[i * seconds.size() / kMostSamples];
  return kept;
}

}  // namespace

std::int64_t phase_steps(const PhaseSteps& wanted) {
  const std::int64_t enough = std::max(wanted.least, stats::samples_needed(0.99, 0.95));
  const auto affordable = static_cast<std::int64_t>(std::min(wanted.room_s / std::max(wanted.step_s, 1e-6), 1e6));
  return std::max<std::int64_t>(1, std::min(std::clamp(affordable, wanted.least, enough), wanted.most));
}

void add_phases(ModelPhases phases, Run& run) {
  const Summary time = run.metrics.front().summary;
  for (auto& [name, seconds] : phases.seconds) {
    run.metrics.push_back(stats::sampled_metric("phase." + name, "s", Better::lower, thinned(std::move(seconds))));
  }
  if (!(time.median > 0)) return;
  const double ratio = phases.step_s / time.median;
  run.metrics.push_back(stats::sampled_metric("phases_ratio", "ratio", Better::neither, {ratio}));
  const double low = time.min / time.median - kPhasesAgree, high = time.max / time.median + kPhasesAgree;
  if (ratio >= low && ratio <= high) return;
  run.notes.emplace_back("phases",
                         fmt::format("they add up to {:.1f} % of the step without marks, whose windows lie "
                                     "from {:.1f} to {:.1f} %",
                                     100 * ratio, 100 * time.min / time.median, 100 * time.max / time.median));
}

}  // namespace warpmark::workloads
