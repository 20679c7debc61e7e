#include "report/results/speedups.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/results/build_parts.h"
#include "stats/tests/compare.h"

namespace warpmark::report {
namespace {

struct BaselineValue {
  std::string_view parameter;
  std::string_view value;
};
constexpr std::array kBaselines{BaselineValue{"impl", "standard"}, BaselineValue{"impl", "unfused"},
                                BaselineValue{"dtype", "f32"}};

/// Whether `other` is `run` with this parameter at the baseline's value.
bool is_baseline(const Run& other, const Run& run, const BaselineValue& baseline) {
  if (other.workload != run.workload || other.device != run.device || other.mode != run.mode) return false;
  const auto& theirs = other.params.items();
  const auto& ours = run.params.items();
  if (theirs.size() != ours.size()) return false;
  bool differs = false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (theirs[i].first != ours[i].first) return false;
    if (theirs[i].first == baseline.parameter) {
      differs = to_text(theirs[i].second) == baseline.value && to_text(ours[i].second) != baseline.value;
      if (!differs) return false;
    } else if (theirs[i].second != ours[i].second) {
      return false;
    }
  }
  return differs;
}

std::optional<Interval> inverted(const std::optional<Interval>& interval) {
  if (!interval || !(interval->low > 0)) return std::nullopt;
  return Interval{1 / interval->high, 1 / interval->low, interval->confidence};
}

std::optional<Interval> interval_of(const Metric& baseline, const Metric& metric) {
  const auto compared = stats::compare({baseline.samples, baseline.round_sizes}, {metric.samples, metric.round_sizes});
  if (compared.difference != stats::Difference::undecidable) return inverted(compared.ratio_interval);
  const auto &before = baseline.summary.median_interval, &after = metric.summary.median_interval;
  if (!before || !after || !(after->low > 0)) return std::nullopt;
  return Interval{before->low / after->high, before->high / after->low,
                  std::min(before->confidence, after->confidence)};
}

bool counts(const Run& run) { return shows_speed(run) && run.metrics.front().id == "time" && !is_command(run); }

}  // namespace

std::vector<RunSpeedUp> speedups_of(const Session& session) {
  std::vector<RunSpeedUp> found;
  for (const Run& run : session.runs) {
    if (!counts(run)) continue;
    for (const auto& baseline : kBaselines) {
      const auto other = std::find_if(session.runs.begin(), session.runs.end(), [&](const Run& candidate) {
        return counts(candidate) && is_baseline(candidate, run, baseline);
      });
      if (other == session.runs.end()) continue;
      const Metric &before = other->metrics.front(), &after = run.metrics.front();
      if (!(after.summary.median > 0) || !(before.summary.median > 0)) continue;
      found.push_back({.run = run.index,
                       .against = other->index,
                       .parameter = std::string(baseline.parameter),
                       .baseline = std::string(baseline.value),
                       .ratio = before.summary.median / after.summary.median,
                       .interval = interval_of(before, after)});
    }
  }
  return found;
}

}  // namespace warpmark::report
