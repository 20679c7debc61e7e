// What a fused or a faster way gains over the plain one, and each precision over f32.
#include <algorithm>

#include <fmt/format.h>

#include "model/names.h"
#include "report/draw/format.h"
#include "report/results/build_parts.h"
#include "report/results/speedups.h"

namespace warpmark::report {
namespace {

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
