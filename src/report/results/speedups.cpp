#include "report/results/speedups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "model/names.h"
#include "report/draw/format.h"
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

const Run* run_at(const Session& session, std::int64_t index) {
  const auto found =
      std::find_if(session.runs.begin(), session.runs.end(), [&](const Run& run) { return run.index == index; });
  return found == session.runs.end() ? nullptr : &*found;
}

Tone tone_of_speedup(const RunSpeedUp& item) {
  if (!item.interval) return Tone::plain;
  if (item.interval->low > 1) return Tone::good;
  return item.interval->high < 1 ? Tone::warning : Tone::plain;
}

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

std::optional<Section> speedups_section(const Session& session, const RunLabels& labels) {
  const auto speedups = speedups_of(session);
  if (speedups.empty()) return std::nullopt;
  Table table{{{"benchmark"},
               {"mode", Align::left, 1},
               {"against"},
               {"its time", Align::right, 3},
               {"time", Align::right, 2},
               {"speedup", Align::right},
               {"interval", Align::right}},
              {}};
  bool unreliable = false;
  for (const auto& item : speedups) {
    const Run *run = run_at(session, item.run), *against = run_at(session, item.against);
    if (run == nullptr || against == nullptr) continue;
    const bool doubtful = run->outcome == Outcome::unreliable || against->outcome == Outcome::unreliable;
    unreliable = unreliable || doubtful;
    const auto time_of = [](const Run& of) {
      return format_quantity(of.metrics.front().summary.median, of.metrics.front().unit);
    };
    table.rows.push_back(
        {{labels.of(*run) + (doubtful ? " ?" : ""), doubtful ? Tone::warning : Tone::plain},
         {name_of(run->mode), Tone::quiet},
         {item.baseline},
         {time_of(*against), Tone::quiet},
         {time_of(*run), Tone::quiet},
         {fmt::format("{:.2f}x", item.ratio), tone_of_speedup(item)},
         {item.interval ? fmt::format("{:.2f} .. {:.2f}", item.interval->low, item.interval->high) : "–",
          Tone::quiet}});
  }
  Section section{"Speedups", {std::move(table)}};
  if (unreliable) section.blocks.emplace_back(Paragraph{"? unreliable: the machine was disturbed.", Tone::quiet});
  return section;
}

}  // namespace warpmark::report
