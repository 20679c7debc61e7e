#include "analyze/recorded/recording_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/recorders.h"

namespace warpmark::analyze {

namespace {

// Recorded over unrecorded step of 22 host-bound programs of PyTorch on H100 and H200 (docs/metrics/analyze.md,
// "Breakdown"): medians with shapes (mean deviation 4 %) and without (11 %). Where the cost was measured, a bound only.
constexpr double kSlowerWithShapes = 1.89;
constexpr double kSlowerWithoutShapes = 1.74;
constexpr double kMeasuredShare = 0.7;

/// What recording takes of a stretch of a program that it makes so many times as long.
double share_of(double times) { return 1 - 1 / times; }

/// The time that recording took, spread over the calls that were timed: what the program was slowed by in all is
/// measured, where is not.
std::int64_t measured_call_cost_ns(const Timeline& timeline, double inflation) {
  const EventColumns& events = timeline.events;
  std::int64_t calls = 0, first = INT64_MAX, last = INT64_MIN;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api_call(events.kind[i])) continue;
    ++calls;
    first = std::min(first, events.start[i]);
    last = std::max(last, events.end(i));
  }
  if (calls == 0) return 0;
  const double cost = static_cast<double>(last - first) * inflation / (1 + inflation) / static_cast<double>(calls);
  return std::min(kDispatchNs, static_cast<std::int64_t>(cost));
}

bool records_shapes(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::op && events.detail[i] != 0) return true;
  }
  return false;
}

}  // namespace

std::optional<double> measured_inflation(const Timeline& timeline) {
  std::optional<double> inflation;
  for (const auto& [key, value] : timeline.metadata) {
    if (key == "warpmark_inflation_corrected" && value == "1") return std::nullopt;
    if (key != "inflation") continue;
    const double ratio = std::strtod(value.c_str(), nullptr);
    if (ratio >= 0 && std::isfinite(ratio)) inflation = ratio;
  }
  return inflation;
}

RecordingCost recording_cost(const Timeline& timeline) {
  for (const auto& [key, value] : timeline.metadata) {
    if (key == "warpmark_inflation_corrected" && value == "1") return {};
  }
  if (const auto inflation = measured_inflation(timeline)) {
    return {0, measured_call_cost_ns(timeline, *inflation), kMeasuredShare};
  }
  if (is_of_kineto(timeline.format)) {
    return records_shapes(timeline) ? RecordingCost{4000, 6000, share_of(kSlowerWithShapes)}
                                    : RecordingCost{3500, 5000, share_of(kSlowerWithoutShapes)};
  }
  if (is_of_nsight(timeline.format)) return {300, 1200, share_of(kSlowerWithoutShapes)};
  return {100, 700, share_of(kSlowerWithoutShapes)};
}

std::vector<Interval> intervals_with_full_queue(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  std::vector<Interval> intervals;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::overhead || !tells_full_queue(timeline.name_of(i))) continue;
    intervals.push_back({events.start[i], events.end(i)});
  }
  return intervals;
}

}  // namespace warpmark::analyze
