#include "analyze/recorded/recording_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "analyze/names/api_calls.h"
#include "analyze/names/recorders.h"
#include "analyze/recorded/scales.h"

namespace warpmark::analyze {

namespace {

// Recorded over unrecorded step of 22 host-bound programs of PyTorch on H100 and H200 (docs/metrics/analyze.md,
// "Breakdown"): the median. What recording takes of a stretch follows.
constexpr double kSlower = 1.8;
constexpr double kMostShare = 1 - 1 / kSlower;
// Of an event, ns: Kineto's operators and calls; calls as other recorders take them.
constexpr std::int64_t kOperatorNs = 4'000, kCallNs = 5'000, kPlainCallNs = 1'000;

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
    return {0, measured_call_cost_ns(timeline, *inflation), kNearlyAll};
  }
  if (is_of_kineto(timeline.format)) return {kOperatorNs, kCallNs, kMostShare};
  return {0, kPlainCallNs, kMostShare};
}

std::vector<Interval> intervals_with_full_queue(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  std::vector<Interval> intervals;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::overhead || !shows_full_queue(timeline.name_of(i))) continue;
    intervals.push_back({events.start[i], events.end(i)});
  }
  return intervals;
}

}  // namespace warpmark::analyze
