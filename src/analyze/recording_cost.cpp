#include "analyze/recording_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "analyze/kernel_category.h"

namespace warpmark::analyze {

namespace {

constexpr double kMostInflation = 10;
constexpr std::int64_t kMostCallCostNs = 20'000;  // more is no cost of timing a call
constexpr double kMeasuredShare = 0.7;  // where the cost was measured, it is spread over the calls: a bound only
// Recorded over unrecorded step of 22 host-bound programs (H100 and H200 machines): median 1.89 with shapes (mean
// deviation 4 %), 1.74 without (11 %).
constexpr double kKinetoShareWithShapes = 1 - 1 / 1.89;
constexpr double kKinetoShare = 1 - 1 / 1.74;
// Length of the launch calls that Kineto records, a quarter of them shorter, on the machines of those figures. Where
// the processor is slower or shared, they last longer, and recording slows the program more than it slows them: of 48
// host-bound programs those with quick calls ran 1.5 to 1.9 times as long in most cases, those with a quarter above 6
// us 1.7 to 2.3 times. The exponent fits them best between 0.46 and 0.61, whichever of the six sets is left out.
constexpr double kUsualLaunchNs = 4'200;
constexpr double kMostLaunchNs = 7'500;
constexpr std::int64_t kWaitingLaunchNs = 15'000;  // a call above this waited for the GPU
constexpr std::size_t kEnoughLaunches = 20'000;    // for a median
constexpr double kInflationOfSlowness = 0.5;

bool is_call(EventKind kind) { return kind == EventKind::runtime_api || kind == EventKind::driver_api; }

/// The time that recording took, spread over the calls that were timed: what the program was slowed by in all is
/// measured, where is not.
std::int64_t measured_call_cost_ns(const Timeline& timeline, double inflation) {
  const EventColumns& events = timeline.events;
  std::int64_t calls = 0, first = INT64_MAX, last = INT64_MIN;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_call(events.kind[i])) continue;
    ++calls;
    first = std::min(first, events.start[i]);
    last = std::max(last, events.end(i));
  }
  if (calls == 0) return 0;
  const double cost = static_cast<double>(last - first) * inflation / (1 + inflation) / static_cast<double>(calls);
  return std::min(kMostCallCostNs, static_cast<std::int64_t>(cost));
}

bool records_shapes(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::op && events.detail[i] != 0) return true;
  }
  return false;
}

/// How slowly the host of the recording launches kernels, 1 and above.
double host_slowness(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  std::vector<bool> launches(timeline.names.size());
  for (NameId i = 0; i < launches.size(); ++i) launches[i] = contains_any(timeline.names.at(i), {"launchkernel"});
  std::vector<std::int64_t> lengths;
  for (EventIndex i = 0; i < events.size() && lengths.size() < kEnoughLaunches; ++i) {
    if (!is_call(events.kind[i]) || !launches[events.name[i]] || events.duration[i] >= kWaitingLaunchNs) continue;
    lengths.push_back(events.duration[i]);
  }
  if (lengths.empty()) return 1;
  const auto quarter = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 4);
  std::nth_element(lengths.begin(), quarter, lengths.end());
  return std::clamp(static_cast<double>(*quarter), kUsualLaunchNs, kMostLaunchNs) / kUsualLaunchNs;
}

}  // namespace

std::optional<double> measured_inflation(const Timeline& timeline) {
  std::optional<double> inflation;
  for (const auto& [key, value] : timeline.metadata) {
    if (key == "warpmark_inflation_corrected" && value == "1") return std::nullopt;
    if (key != "inflation") continue;
    const double ratio = std::strtod(value.c_str(), nullptr);
    if (ratio >= 0) inflation = std::min(ratio, kMostInflation);  // not so for NaN
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
  if (contains_any(timeline.format, {"kineto", "pytorch", "chrome"})) {
    const RecordingCost usual = records_shapes(timeline) ? RecordingCost{4000, 6000, kKinetoShareWithShapes}
                                                         : RecordingCost{3500, 5000, kKinetoShare};
    const double slowness = host_slowness(timeline);
    return {static_cast<std::int64_t>(static_cast<double>(usual.op_ns) * slowness),
            static_cast<std::int64_t>(static_cast<double>(usual.api_ns) * slowness),
            1 - (1 - usual.most_share) * std::pow(slowness, -kInflationOfSlowness)};
  }
  if (contains_any(timeline.format, {"nsys", "nsight"})) return {300, 1200, kKinetoShare};
  return {100, 700, kKinetoShare};
}

bool tells_full_queue(std::string_view overhead) { return contains_any(overhead, {"command buffer full"}); }

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
