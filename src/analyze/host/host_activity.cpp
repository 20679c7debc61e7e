#include "analyze/host/host_activity.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "analyze/host/hidden_waits.h"
#include "analyze/names/api_calls.h"
#include "analyze/names/framework.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kHeldSetupNs = 100'000'000;  // cudaMalloc takes up to a millisecond a GiB

HostCause cause_of(const HiddenWait& wait) { return wait.moves_data ? HostCause::transfer : HostCause::sync; }

}  // namespace

struct HostActivity::Builder {
  const Timeline& timeline;
  const WorkList& list;
  const Coverage& gpu_busy;
  RecordingCost cost;
  std::vector<std::uint8_t> name_cause = std::vector<std::uint8_t>(timeline.names.size(), 0xFF);
  std::unordered_map<EventIndex, const GpuWork*> copies = {};
  std::vector<EventIndex> release_waits = find_waits_for_release(timeline);
  std::vector<bool> calls_within = events_with_calls(timeline, list);
  std::vector<std::int64_t> launch_times = times_of_launches(timeline, list);
  std::unordered_set<EventIndex> first_launches = {};  ///< of each kernel
  std::unordered_set<EventIndex> moving_ops = {};      ///< operators that launch copies of data between host and GPU

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
    if (is_api_call(kind)) {
      cause = is_sync_call(text)         ? HostCause::sync
              : is_allocation_call(text) ? HostCause::allocation
              : is_copy_call(text)       ? HostCause::transfer
                                         : HostCause::dispatch;
    } else if (kind != EventKind::os_call) {
      cause = names_data_loading(text)     ? HostCause::data_loading
              : names_optimizer_step(text) ? HostCause::optimizer
              : reads_value(text)          ? HostCause::reading
              : waits_for_array(text)      ? HostCause::sync
              : stages_upload(text)        ? HostCause::transfer
              : is_host_collective(text)   ? HostCause::transfer
              : kind == EventKind::op      ? HostCause::dispatch
                                           : HostCause::none;
    }
    known = static_cast<std::uint8_t>(cause);
    return cause;
  }

  /// Host events around a call of the GPU's API.
  static std::vector<bool> events_with_calls(const Timeline& timeline, const WorkList& list) {
    std::vector<bool> within(timeline.events.size(), false);
    for (EventIndex i = 0; i < timeline.events.size(); ++i) {
      if (!is_api_call(timeline.events.kind[i])) continue;
      for (EventIndex at = list.parent[i]; at != kNoEvent && !within[at]; at = list.parent[at]) within[at] = true;
    }
    return within;
  }

  static std::vector<std::int64_t> times_of_launches(const Timeline& timeline, const WorkList& list) {
    std::vector<std::int64_t> times;
    for (const GpuWork& work : list.works) {
      if (work.launch != kNoEvent) times.push_back(timeline.events.start[work.launch]);
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  /// It lasts, calls nothing of the GPU, and no other thread launches for it meanwhile (a backward pass).
  [[nodiscard]] bool is_of_host_alone(EventIndex i) const {
    const EventColumns& events = timeline.events;
    if (events.duration[i] < kOwnWorkNs || calls_within[i]) return false;
    const auto next = std::lower_bound(launch_times.begin(), launch_times.end(), events.start[i]);
    return next == launch_times.end() || *next >= events.end(i);
  }

  /// CUDA loads a kernel's code with its first launch, and creates its context with the first call that needs one (CUDA
  /// C++ Programming Guide, "Lazy Loading" and "Initialization"): milliseconds and more in a call that takes
  /// microseconds else, with nothing on the GPU to wait for.
  [[nodiscard]] bool holds_host(EventIndex i, HostCause cause) const {
    const EventColumns& events = timeline.events;
    const std::int64_t least =
        cause == HostCause::dispatch ? (first_launches.contains(i) ? 2 * kDispatchNs : kHeldLaunchNs)
        : cause == HostCause::allocation && !is_host_memory_call(timeline.name_of(i)) ? kHeldSetupNs
                                                                                      : INT64_MAX;
    return is_api_call(events.kind[i]) && events.duration[i] >= least &&
           gpu_busy.covered(events.start[i], events.end(i)) * 2 < events.duration[i];
  }

  /// What waits for a process that the program itself started is work that this process does.
  [[nodiscard]] bool is_for_child(EventIndex i) const {
    return any_around(list, i, [this](EventIndex at) { return runs_process(timeline.name_of(at)); });
  }

  /// A blocking copy from or to pinned memory is an asynchronous call and a wait for it, in one operator.
  HostCause of_event(EventIndex i) {
    const EventColumns& events = timeline.events;
    const HostCause cause = of_name(events.name[i], events.kind[i]);
    if (holds_host(i, cause)) return HostCause::held;
    const bool unnamed = cause == HostCause::none || (cause == HostCause::dispatch && events.kind[i] == EventKind::op);
    if (unnamed && is_of_host_alone(i)) {
      if (!waits_for_input(timeline.name_of(i))) return HostCause::work;
      return is_for_child(i) ? HostCause::none : HostCause::input;  // of the function that started the child
    }
    if (cause == HostCause::sync && std::ranges::binary_search(release_waits, i)) return HostCause::allocation;
    if (cause == HostCause::sync && moving_ops.contains(list.parent[i])) return HostCause::transfer;
    if (cause != HostCause::transfer || !is_api_call(events.kind[i])) return cause;
    const auto copy = copies.find(i);
    if (copy == copies.end()) return events.duration[i] >= kDispatchNs ? cause : HostCause::dispatch;
    const EventIndex work = copy->second->event;
    if (copy->second->category == Category::copy_on_device) return HostCause::dispatch;  // the host has no part in it
    const bool pageable = host_memory(events.detail[work]) == HostMemory::pageable;
    if (copy->second->category == Category::copy_to_device && !uploads(timeline, *copy->second)) {  // an argument, ...
      const bool waits = pageable && events.duration[i] >= kDispatchNs;  // ... but the call waits for the stream
      return waits ? HostCause::sync : HostCause::dispatch;
    }
    if (copy->second->category == Category::copy_to_host && !copy->second->downloads) return HostCause::sync;
    return pageable || events.duration[i] >= kDispatchNs ? cause : HostCause::dispatch;
  }

  /// A call that copies from or to pinned memory and returns before the copy has ended did not wait for it.
  [[nodiscard]] bool returns_early(EventIndex call) const {
    const auto copy = copies.find(call);
    if (copy == copies.end()) return false;
    const HostMemory memory = host_memory(timeline.events.detail[copy->second->event]);
    return memory == HostMemory::pinned && timeline.events.end(call) < copy->second->end;
  }

  /// A range that waits or copies by its name: what is called in it is part of it.
  [[nodiscard]] bool is_wait_range(const Open& open) const {
    const bool waits = open.cause == HostCause::sync || open.cause == HostCause::transfer;
    return waits && !is_api_call(timeline.events.kind[open.event]);
  }

  static HostCause combined(HostCause around, HostCause own) {
    if (around == HostCause::data_loading) return around;
    switch (own) {
      case HostCause::allocation:
      case HostCause::transfer:
      case HostCause::sync:
      case HostCause::data_loading:
      case HostCause::optimizer: return own;
      case HostCause::held: return own;
      case HostCause::input:
      case HostCause::work: {  // what the system does within a call of the GPU's API is part of that call
        const bool part = around == HostCause::allocation || around == HostCause::transfer ||
                          around == HostCause::sync || around == HostCause::held || around == HostCause::input;
        return part || (own == HostCause::work && around == HostCause::optimizer) ? around : own;
      }
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

  /// A function that does nothing but call another one.
  bool is_all_of(EventIndex inner, EventIndex outer) const {
    const EventColumns& events = timeline.events;
    return outer != kNoEvent &&
           static_cast<double>(events.duration[inner]) >= kNearlyAll * static_cast<double>(events.duration[outer]);
  }

  void add(EventIndex i, Track& track, std::vector<Open>& stack, std::vector<BlockingCall>& blocking) {
    const EventColumns& events = timeline.events;
    const EventKind kind = events.kind[i];
    close_until(track, stack, events.start[i]);
    const std::int64_t cost_ns = kind == EventKind::op ? cost.op_ns : is_api_call(kind) ? cost.api_ns : 0;
    if (cost_ns > 0) {
      track.cost_time.push_back(events.start[i]);
      track.cost_sum.push_back(track.cost);
      track.cost += cost_ns;
    }
    std::int64_t end = events.end(i);
    if (!stack.empty()) end = std::min(end, stack.back().end);  // overlapping ranges: the outer one ends both
    if (end <= events.start[i]) return;
    const bool in_wait = !stack.empty() && is_wait_range(stack.back());
    const HostCause own = in_wait ? HostCause::none : of_event(i);
    const HostCause cause = combined(stack.empty() ? HostCause::none : stack.back().cause, own);
    const bool names_part = kind == EventKind::annotation && is_unrecorded(cause);  // of the step, for its glue
    const bool inherits = !stack.empty() && !names_part &&
                          (own == HostCause::none || (own == HostCause::dispatch && cause != own) ||
                           (own == HostCause::work && stack.back().cause == own && !is_all_of(i, stack.back().event)));
    const Open open{end, cause, inherits ? stack.back().event : i};
    const bool waits = cause == HostCause::sync || cause == HostCause::transfer || cause == HostCause::allocation;
    if (waits && !in_wait && (is_api_call(kind) || own == HostCause::sync))
      blocking.push_back({events.start[i], end, gpu_busy.covered(events.start[i], end), i, cause});
    mark(track, events.start[i], open.cause, open.event);
    stack.push_back(open);
  }
};

HostActivity::HostActivity(const Timeline& timeline, const WorkList& list, const Coverage& gpu_busy)
    : tracks_(timeline.tracks.size()), modes_(find_debug_modes(timeline, list)) {
  Builder builder{timeline, list, gpu_busy, recording_cost(timeline)};
  std::vector<bool> wanted(timeline.tracks.size(), false);
  std::vector<bool> launched(timeline.names.size(), false);  // kernels, by name
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent) continue;
    wanted[timeline.events.track[work.launch]] = true;
    if (timeline.events.kind[work.event] == EventKind::kernel && !launched[timeline.events.name[work.event]]) {
      launched[timeline.events.name[work.event]] = true;
      builder.first_launches.insert(work.launch);
    }
    if (is_copy(work.category)) builder.copies.emplace(work.launch, &work);
    const EventIndex around = list.parent[work.launch];
    const bool in_op = around != kNoEvent && timeline.events.kind[around] == EventKind::op;
    if (in_op && is_host_copy(work.category) && timeline.events.value[work.event] > kValueBytes)
      builder.moving_ops.insert(around);
  }
  const EventColumns& events = timeline.events;
  std::vector<std::vector<Builder::Open>> stacks(timeline.tracks.size());
  const NameSet loads(timeline.names, names_data_loading);
  bool has_stacks = false, names_loads = false;
  std::vector<EventIndex> of_other_threads;  // what they do for long, ascending by start
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    has_stacks = has_stacks || kind == EventKind::python;
    // On other tracks it is of a sampled stack, whose frames begin and end between samples.
    names_loads = names_loads ||
                  (loads.contains(events.name[i]) && timeline.tracks[events.track[i]].kind == TrackKind::cpu_thread);
    const bool waits =
        kind == EventKind::os_call && is_waiting_os_call(timeline.name_of(i)) && !builder.is_of_host_alone(i);
    const bool range = kind == EventKind::op || kind == EventKind::annotation || is_api_call(kind) ||
                       kind == EventKind::python || (kind == EventKind::os_call && !waits);
    if (!range) continue;
    if (!wanted[events.track[i]]) {
      if (events.duration[i] > kLongGlueNs / 2 && builder.of_event(i) == HostCause::work) of_other_threads.push_back(i);
      continue;
    }
    builder.add(i, tracks_[events.track[i]], stacks[events.track[i]], blocking_);
    const HostCause own = builder.of_event(i);
    if (own == HostCause::transfer && (!is_api_call(kind) || builder.returns_early(i))) staging_.insert(i);
    if (own == HostCause::held) held_.insert(i);
  }
  loads_before_uploads_ = !names_loads && (has_stacks || names_framework(timeline.names));
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    Builder::close_until(tracks_[t], stacks[t], INT64_MAX);
  }
  name_loading_by_stacks(timeline, wanted);
  name_by_other_threads(timeline, of_other_threads);
  add_hidden_waits(find_hidden_waits(timeline, list), wanted, gpu_busy);
  std::sort(blocking_.begin(), blocking_.end(),
            [](const BlockingCall& a, const BlockingCall& b) { return a.end < b.end; });
}

/// They take the place of what no operator or call explains; ranges need not enclose them.
void HostActivity::add_hidden_waits(const std::vector<HiddenWait>& waits, const std::vector<bool>& wanted,
                                    const Coverage& gpu_busy) {
  std::vector<std::vector<const HiddenWait*>> of_track(tracks_.size());
  for (const HiddenWait& wait : waits) {
    if (!wanted[wait.track]) continue;
    of_track[wait.track].push_back(&wait);
    if (wait.reads) hidden_reads_.insert(wait.event);
    blocking_.push_back({wait.start, wait.end, gpu_busy.covered(wait.start, wait.end), wait.event, cause_of(wait)});
  }
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    if (!of_track[t].empty()) put_over(tracks_[t], of_track[t]);
  }
}

void HostActivity::put_over(Track& track, const std::vector<const HiddenWait*>& waits) {
  Track under;
  std::swap(under.time, track.time);
  std::swap(under.cause, track.cause);
  std::swap(under.event, track.event);
  std::size_t next = 0;
  const auto add = [&track](std::int64_t time, HostCause cause, EventIndex event) {
    if (!track.time.empty() && track.time.back() == time) {
      track.cause.back() = cause;
      track.event.back() = event;
      return;
    }
    track.time.push_back(time);
    track.cause.push_back(cause);
    track.event.push_back(event);
  };
  HostCause cause = HostCause::none;
  EventIndex event = kNoEvent;
  const auto take_until = [&](std::int64_t time) {
    for (; next < under.time.size() && under.time[next] <= time; ++next) {
      cause = under.cause[next];
      event = under.event[next];
      add(under.time[next], cause, event);
    }
  };
  for (const HiddenWait* wait : waits) {
    take_until(wait->start);
    std::int64_t at = wait->start;
    while (at < wait->end) {  // piece by piece of what lies under it
      const std::int64_t until = next < under.time.size() ? std::min(wait->end, under.time[next]) : wait->end;
      const bool unexplained = is_unrecorded(cause) || cause == HostCause::input;
      if (unexplained) add(at, cause_of(*wait), wait->event);
      take_until(until);
      if (unexplained && until == wait->end) add(until, cause, event);
      at = until;
    }
  }
  take_until(INT64_MAX);
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
      const std::size_t known = out.size();
      segments(fallback, fallback, from, until, out);
      for (std::size_t k = known; i > 0 && k < out.size(); ++k) {  // this thread's range still names it
        if (out[k].cause == HostCause::none && out[k].event == kNoEvent) out[k].event = own.event[i - 1];
      }
    } else if (until > from) {
      out.push_back({from, until, cause, i == 0 ? kNoEvent : own.event[i - 1], cost_within(own, from, until)});
    }
    from = until;
    ++i;
  }
}

std::int64_t HostActivity::recording_ns(std::int64_t from, std::int64_t to) const {
  std::int64_t sum = 0;
  for (const Track& track : tracks_) sum += cost_within(track, from, to);
  return sum;
}

std::int64_t HostActivity::cost_within(const Track& track, std::int64_t from, std::int64_t to) const {
  if (track.cost == 0) return 0;
  const auto sum_before = [&track](std::int64_t time) {
    const auto at = std::lower_bound(track.cost_time.begin(), track.cost_time.end(), time) - track.cost_time.begin();
    return static_cast<std::size_t>(at) < track.cost_sum.size() ? track.cost_sum[static_cast<std::size_t>(at)]
                                                                : track.cost;
  };
  return sum_before(to) - sum_before(from);
}

}  // namespace warpmark::analyze
