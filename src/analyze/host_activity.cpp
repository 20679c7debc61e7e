#include "analyze/host_activity.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kScalarBytes = 64 << 10;  // a device-to-host copy up to this reads a value, it moves no data
constexpr double kMostInflation = 10;
constexpr std::int64_t kMostCallCostNs = 20'000;  // more is no cost of timing a call
constexpr std::int64_t kLongLoadingNs = 300'000;
// Calling an operator from Python takes some us around what is recorded of it, an index into a list 0.1 us: a longer
// stretch between operators is the program's own.
constexpr std::int64_t kShortGlueNs = 20'000;
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
constexpr std::int64_t kLongCopyCallNs = 20'000;  // an asynchronous copy call above this does the copying itself

bool is_api(EventKind kind) { return kind == EventKind::runtime_api || kind == EventKind::driver_api; }

/// The time that recording took, spread over the calls that were timed: what the program was slowed by in all is
/// measured, where is not.
std::int64_t measured_call_cost_ns(const Timeline& timeline, double inflation) {
  const EventColumns& events = timeline.events;
  std::int64_t calls = 0, first = INT64_MAX, last = INT64_MIN;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_api(events.kind[i])) continue;
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
    if (!is_api(events.kind[i]) || !launches[events.name[i]] || events.duration[i] >= kWaitingLaunchNs) continue;
    lengths.push_back(events.duration[i]);
  }
  if (lengths.empty()) return 1;
  const auto quarter = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 4);
  std::nth_element(lengths.begin(), quarter, lengths.end());
  return std::clamp(static_cast<double>(*quarter), kUsualLaunchNs, kMostLaunchNs) / kUsualLaunchNs;
}

}  // namespace

bool is_launch_call(std::string_view api) { return contains_any(api, {"launch"}); }
bool is_sync_call(std::string_view api) { return contains_any(api, {"synchronize"}); }
bool is_copy_call(std::string_view api) { return contains_any(api, {"memcpy"}); }

bool is_allocation_call(std::string_view api) {
  if (contains_any(api, {"async", "mallocfrompool"})) return false;
  return contains_any(api, {"cudamalloc", "cudafree", "cumemalloc", "cumemfree", "cumemcreate", "cumemmap",
                            "cumemunmap", "cumemrelease", "cumemsetaccess", "cumemaddress", "cudahostalloc",
                            "cudahostregister", "cudahostunregister", "cumemhost", "hipmalloc", "hipfree"});
}

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

struct HostActivity::Builder {
  const Timeline& timeline;
  const WorkList& list;
  const Coverage& gpu_busy;
  RecordingCost cost;
  const DebugModes& modes;
  std::vector<std::uint8_t> name_cause = std::vector<std::uint8_t>(timeline.names.size(), 0xFF);
  std::unordered_map<EventIndex, const GpuWork*> copies = {};
  std::unordered_set<EventIndex> moving_ops = {};  ///< operators that launch copies of data between host and GPU

  struct Open {
    std::int64_t end;
    HostCause cause;
    EventIndex event;
  };

  HostCause of_name(NameId name, EventKind kind) {
    std::uint8_t& known = name_cause[name];
    if (known != 0xFF) return static_cast<HostCause>(known);
    const std::string_view text = timeline.names.at(name);
    HostCause cause = HostCause::none;
    if (is_api(kind)) {
      cause = is_sync_call(text)         ? HostCause::sync
              : is_allocation_call(text) ? HostCause::allocation
              : is_copy_call(text)       ? HostCause::transfer
                                         : HostCause::dispatch;
    } else if (kind != EventKind::os_call) {
      cause = names_data_loading(text)     ? HostCause::data_loading
              : names_optimizer_step(text) ? HostCause::optimizer
              : text == "aten::item"       ? HostCause::reading
              : kind == EventKind::op      ? HostCause::dispatch
                                           : HostCause::none;
    }
    known = static_cast<std::uint8_t>(cause);
    return cause;
  }

  /// A blocking copy from or to pinned memory is an asynchronous call and a wait for it, in one operator.
  HostCause of_event(EventIndex i) {
    const EventColumns& events = timeline.events;
    if (modes.checks.contains(i)) return HostCause::reading;
    const HostCause cause = of_name(events.name[i], events.kind[i]);
    if (cause == HostCause::sync && moving_ops.contains(list.parent[i])) return HostCause::transfer;
    if (cause != HostCause::transfer) return cause;
    const auto copy = copies.find(i);
    if (copy == copies.end()) return events.duration[i] >= kLongCopyCallNs ? cause : HostCause::dispatch;
    const EventIndex work = copy->second->event;
    if (copy->second->category == Category::copy_on_device) return HostCause::dispatch;  // the host has no part in it
    if (copy->second->category == Category::copy_to_host && events.value[work] <= kScalarBytes) return HostCause::sync;
    const bool pageable = host_memory(events.detail[work]) == HostMemory::pageable;
    return pageable || events.duration[i] >= kLongCopyCallNs ? cause : HostCause::dispatch;
  }

  static HostCause combined(HostCause around, HostCause own) {
    if (around == HostCause::data_loading) return around;
    switch (own) {
      case HostCause::allocation:
      case HostCause::transfer:
      case HostCause::sync:
      case HostCause::data_loading:
      case HostCause::optimizer: return own;
      case HostCause::reading: return around == HostCause::optimizer ? around : own;
      case HostCause::dispatch: return around == HostCause::optimizer || around == HostCause::reading ? around : own;
      default: return around == HostCause::none ? HostCause::other : around;
    }
  }

  static void mark(Track& track, std::int64_t time, HostCause cause, EventIndex event) {
    if (!track.time.empty() && track.time.back() == time) {
      track.cause.back() = cause;
      track.event.back() = event;
    } else if (track.time.empty() || track.cause.back() != cause ||
               (event != track.event.back() && cause != HostCause::dispatch)) {
      track.time.push_back(time);
      track.cause.push_back(cause);
      track.event.push_back(event);
    }
  }

  static void close_until(Track& track, std::vector<Open>& stack, std::int64_t time) {
    while (!stack.empty() && stack.back().end <= time) {
      const std::int64_t end = stack.back().end;
      stack.pop_back();
      if (stack.empty()) {
        mark(track, end, HostCause::none, kNoEvent);
      } else {
        mark(track, end, stack.back().cause, stack.back().event);
      }
    }
  }

  void add(EventIndex i, Track& track, std::vector<Open>& stack, std::vector<BlockingCall>& blocking) {
    const EventColumns& events = timeline.events;
    const EventKind kind = events.kind[i];
    close_until(track, stack, events.start[i]);
    const std::int64_t cost_ns = kind == EventKind::op ? cost.op_ns : is_api(kind) ? cost.api_ns : 0;
    if (cost_ns > 0) {
      track.cost_time.push_back(events.start[i]);
      track.cost_sum.push_back(track.cost);
      track.cost += cost_ns;
    }
    std::int64_t end = events.end(i);
    if (!stack.empty()) end = std::min(end, stack.back().end);  // overlapping ranges: the outer one ends both
    if (end <= events.start[i]) return;
    const HostCause own = of_event(i);
    const HostCause cause = combined(stack.empty() ? HostCause::none : stack.back().cause, own);
    const bool inherits = !stack.empty() && (own == HostCause::none || (own == HostCause::dispatch && cause != own));
    const Open open{end, cause, inherits ? stack.back().event : i};
    const bool waits = cause == HostCause::sync || cause == HostCause::transfer || cause == HostCause::allocation;
    if (waits && is_api(kind))
      blocking.push_back({events.start[i], end, gpu_busy.covered(events.start[i], end), i, cause});
    if (const auto saves = modes.stacks.find(i); saves != modes.stacks.end() && cause == HostCause::dispatch) {
      mark(track, events.start[i], HostCause::reading, i);
      mark(track, events.start[i] + saves->second, open.cause, open.event);
    } else {
      mark(track, events.start[i], open.cause, open.event);
    }
    stack.push_back(open);
  }
};

void name_loading_before_upload(std::vector<HostSegment>& segments, std::int64_t step_ns) {
  std::int64_t sum = 0;
  for (const HostSegment& one : segments) {
    if (is_dispatching(one.cause)) sum += std::max<std::int64_t>(0, one.end - one.start - one.recording_ns);
  }
  if (sum < std::max(kLongLoadingNs, step_ns / 40)) return;
  for (HostSegment& one : segments) {
    if (is_dispatching(one.cause)) one.cause = HostCause::data_loading;
  }
}

void name_round_trip(std::vector<HostSegment>& segments) {
  for (HostSegment& one : segments) {
    if (is_dispatching(one.cause) || one.cause == HostCause::optimizer) one.cause = HostCause::transfer;
  }
}

void name_work_on_download(std::vector<HostSegment>& segments) {
  for (HostSegment& one : segments) {
    const bool outside = one.cause == HostCause::none || one.cause == HostCause::other;
    if (outside && one.end - one.start - one.recording_ns >= kLongLoadingNs) one.cause = HostCause::transfer;
  }
}

void name_picking(std::vector<HostSegment>& segments) {
  for (HostSegment& one : segments) {
    const bool glue = one.cause == HostCause::none || one.cause == HostCause::other;
    if (one.cause == HostCause::dispatch || (glue && one.end - one.start < kShortGlueNs))
      one.cause = HostCause::reading;
  }
}

bool downloads(const Timeline& timeline, const GpuWork& work) {
  return work.category == Category::copy_to_host && timeline.events.value[work.event] > kScalarBytes;
}

HostActivity::HostActivity(const Timeline& timeline, const WorkList& list, const Coverage& gpu_busy)
    : tracks_(timeline.tracks.size()), modes_(find_debug_modes(timeline, list)) {
  Builder builder{timeline, list, gpu_busy, recording_cost(timeline), modes_};
  std::vector<bool> wanted(timeline.tracks.size(), false);
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent) continue;
    wanted[timeline.events.track[work.launch]] = true;
    if (is_copy(work.category)) builder.copies.emplace(work.launch, &work);
    const EventIndex around = list.parent[work.launch];
    const bool in_op = around != kNoEvent && timeline.events.kind[around] == EventKind::op;
    if (in_op && is_host_copy(work.category) && timeline.events.value[work.event] > kScalarBytes)
      builder.moving_ops.insert(around);
  }
  const EventColumns& events = timeline.events;
  std::vector<std::vector<Builder::Open>> stacks(timeline.tracks.size());
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    const bool range = kind == EventKind::op || kind == EventKind::annotation || is_api(kind) ||
                       kind == EventKind::python || kind == EventKind::os_call;
    if (range && wanted[events.track[i]]) builder.add(i, tracks_[events.track[i]], stacks[events.track[i]], blocking_);
  }
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    Builder::close_until(tracks_[t], stacks[t], INT64_MAX);
  }
  std::sort(blocking_.begin(), blocking_.end(),
            [](const BlockingCall& a, const BlockingCall& b) { return a.end < b.end; });
}

void HostActivity::segments(std::uint32_t track, std::uint32_t fallback, std::int64_t from, std::int64_t to,
                            std::vector<HostSegment>& out) const {
  if (to <= from) return;
  const Track& own = tracks_[track];
  auto i = static_cast<std::size_t>(std::upper_bound(own.time.begin(), own.time.end(), from) - own.time.begin());
  while (from < to) {
    const std::int64_t until = i < own.time.size() ? std::min(to, own.time[i]) : to;
    const HostCause cause = i == 0 ? HostCause::none : own.cause[i - 1];
    if (cause == HostCause::none && fallback != track) {
      segments(fallback, fallback, from, until, out);
    } else if (until > from) {
      out.push_back({from, until, cause, i == 0 ? kNoEvent : own.event[i - 1], cost_within(own, from, until)});
    }
    from = until;
    ++i;
  }
}

std::int64_t HostActivity::cost_within(const Track& track, std::int64_t from, std::int64_t to) const {
  const auto sum_before = [&track](std::int64_t time) {
    const auto at = std::lower_bound(track.cost_time.begin(), track.cost_time.end(), time) - track.cost_time.begin();
    return static_cast<std::size_t>(at) < track.cost_sum.size() ? track.cost_sum[static_cast<std::size_t>(at)]
                                                                : track.cost;
  };
  return sum_before(to) - sum_before(from);
}

}  // namespace warpmark::analyze
