#include "analyze/replay/idle_causes.h"

#include <algorithm>
#include <utility>

#include "analyze/host/segment_names.h"
#include "analyze/names/api_calls.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/recording_debt.h"

namespace warpmark::analyze {

namespace {

struct Launch {
  std::int64_t time;
  std::uint32_t track;
};

/// How far ahead the host would have been without its waits of one kind: what it waited while the GPU worked, and not
/// yet held against an idle stretch. No more than the waits of one step.
struct Lead {
  Part part;
  std::int64_t ns = 0;
  std::int64_t waited_in_step = 0;
  EventIndex event = kNoEvent;
};

class Explainer {
 public:
  Explainer(const BreakdownInput& input, Breakdown& breakdown)
      : input_(input),
        breakdown_(breakdown),
        copies_(input.timeline.names, is_copy_call),
        syncs_(input.timeline.names, is_sync_call),
        debt_(recording_cost(input.timeline).most_share, kHeldLaunchNs) {
    const EventColumns& events = input.timeline.events;
    for (const GpuWork& work : input.list.works) {
      if (work.launch != kNoEvent) launches_.push_back({events.start[work.launch], events.track[work.launch]});
    }
    std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) { return a.time < b.time; });
    std::vector<Interval> overhead;
    for (EventIndex i = 0; i < events.size(); ++i) {
      has_stacks_ = has_stacks_ || events.kind[i] == EventKind::python;
      if (events.kind[i] != EventKind::overhead) continue;
      if (shows_full_queue(input.timeline.name_of(i))) continue;
      overhead.push_back({events.start[i], events.end(i)});
    }
    overhead_ = Coverage(std::move(overhead));
    step_ns_ = input.steps.length() / std::ssize(input.steps.analyzed);
    copies_block_ =
        std::ranges::count_if(input.host.blocking_calls(), [&input](const BlockingCall& call) {
          return call.cause == HostCause::transfer && call.end > input.steps.start() && call.end <= input.steps.end();
        }) >= std::ssize(input.steps.analyzed);
  }

  /// What may hide work of the GPU that was not recorded is no idle time with a cause.
  void explain(const Interval& gap) {
    std::int64_t from = gap.start;
    for (; next_missing_ < input_.missing.size() && input_.missing[next_missing_].end <= gap.start; ++next_missing_) {
    }
    for (std::size_t i = next_missing_; i < input_.missing.size() && input_.missing[i].start < gap.end; ++i) {
      const Interval lost{std::max(from, input_.missing[i].start), std::min(gap.end, input_.missing[i].end)};
      if (lost.end <= lost.start) continue;
      explain_known({from, lost.start}, gap.end);
      give(Part::idle_unknown, lost, kNoEvent, kNoEvent);
      from = lost.end;
    }
    explain_known({from, gap.end}, gap.end);
  }

 private:
  void explain_known(const Interval& gap, std::int64_t works_again) {
    if (gap.end <= gap.start) return;
    const EventColumns& events = input_.timeline.events;
    const auto& works = input_.list.works;
    const auto next = std::partition_point(works.begin() + static_cast<std::ptrdiff_t>(next_), works.end(),
                                           [works_again](const GpuWork& work) { return work.start < works_again; });
    next_ = static_cast<std::size_t>(next - works.begin());
    exchanges_ = next != works.end() && next->category == Category::communication;
    exchanged_ = next != works.begin() && std::prev(next)->category == Category::communication;
    if (next == works.end() || next->launch == kNoEvent) return without_launch(gap);
    const std::int64_t launch = events.start[next->launch];
    if (launch <= gap.start) {
      // Between two kernels of one graph nothing is launched.
      const bool of_one_launch = next != works.begin() && std::prev(next)->launch == next->launch;
      const bool late = events.end(next->launch) > gap.start && !of_one_launch;
      return until_begun(gap, *next, late ? in_call(*next) : Part::idle_kernel_gap);
    }
    const std::int64_t handed_over = std::min(gap.end, launch);
    const std::uint32_t track = events.track[next->launch];
    segments_.clear();
    input_.host.segments(track, track_before(launch, track), gap.start, handed_over, segments_);
    name_by_works({.to_upload = input_.host.loads_before_uploads() && uploads(input_.timeline, *next),
                   .between_values = false,
                   .downloaded = next->downloads ? events.value[next->event] : 0,
                   .step_ns = step_ns_,
                   .timeline = input_.timeline},
                  segments_, segments_);
    for (const HostSegment& segment : segments_) explain(segment, next->event);
    until_begun({handed_over, gap.end}, *next, in_call(*next));
  }

  /// It was launched. Where it begins much later, and the host is blocked meanwhile, both wait for what was not
  /// recorded.
  void until_begun(const Interval& gap, const GpuWork& next, Part part) {
    if (gap.end - gap.start <= kOwnWorkNs) return give(part, gap, next.launch, next.event);
    const std::uint32_t track = input_.timeline.events.track[next.launch];
    segments_.clear();
    input_.host.segments(track, track, gap.start, gap.end, segments_);
    for (const HostSegment& one : segments_) {
      const bool blocked = one.event != kNoEvent && (one.cause == HostCause::sync || one.cause == HostCause::transfer);
      give(blocked ? Part::idle_blocking_call : part, {one.start, one.end}, blocked ? one.event : next.launch,
           next.event);
    }
  }

  /// The launch was made and its work has not begun: on its way, unless the call itself takes long. A copy call then
  /// stages what it moves; what reads a value waits for something that was not recorded.
  [[nodiscard]] Part in_call(const GpuWork& work) const {
    const Part launching = work.in_optimizer ? Part::idle_optimizer : Part::idle_launch;
    const bool copies = copies_.contains(input_.timeline.events.name[work.launch]);
    if (input_.host.is_held(work.launch)) return Part::idle_blocking_call;
    if (!copies || input_.timeline.events.duration[work.launch] <= kOwnWorkNs) return launching;
    return moves_data(work) ? Part::idle_host_transfer : Part::idle_blocking_call;
  }

  /// Nothing tells what ends this stretch: what the thread does that launched last, if it was recorded.
  void without_launch(const Interval& gap) {
    const auto& works = input_.list.works;
    // A page that is touched elsewhere faults before it moves: some tens of microseconds (N. Sakharnykh, "Maximizing
    // Unified Memory Performance in CUDA", NVIDIA 2017).
    const bool faults = next_ < works.size() && names_migration(input_.timeline.name_of(works[next_].event));
    if (faults && gap.end - gap.start <= kOwnWorkNs)
      return give(Part::idle_host_transfer, gap, kNoEvent, works[next_].event);
    // What faulted after so long is the host: it worked on the pages before.
    if (faults && works[next_].category == Category::copy_to_host)
      return give(Part::idle_host_work, gap, kNoEvent, works[next_].event);
    if (next_ < works.size() || launches_.empty()) return give(Part::idle_unknown, gap, kNoEvent, kNoEvent);
    const std::uint32_t track = track_before(gap.start, launches_.back().track);
    segments_.clear();
    input_.host.segments(track, track, gap.start, gap.end, segments_);
    name_by_works({.step_ns = step_ns_, .timeline = input_.timeline}, segments_, segments_);
    for (const HostSegment& segment : segments_) explain(segment, kNoEvent);
  }

  std::uint32_t track_before(std::int64_t time, std::uint32_t otherwise) const {
    const auto at = std::partition_point(launches_.begin(), launches_.end(),
                                         [time](const Launch& launch) { return launch.time < time; });
    return at == launches_.begin() ? otherwise : std::prev(at)->track;
  }

  void explain(HostSegment segment, EventIndex next) {
    Interval rest{segment.start, segment.end};
    refill(rest.start);
    // A hook that exchanges gradients within the optimizer's step updates nothing.
    if (segment.cause == HostCause::optimizer && exchanges_) segment.cause = HostCause::dispatch;
    const bool reads = segment.cause == HostCause::reading;
    const bool by_recording = is_dispatching_anything(segment.cause) || reads;
    if (segment.cause != HostCause::data_loading) debt_.add(segment.recording_ns);
    if (input_.correct_recording_cost && by_recording) {
      std::int64_t cost = debt_.take(rest.end - rest.start);
      if (is_dispatching(segment.cause) || reads) cost = std::max(cost, overhead_.covered(rest.start, rest.end));
      rest = take(Part::idle_profiler, cost, rest, segment.event, next);
    }
    // What is recorded as work, or longer than all that was waited, would be there without the waits, too; and what
    // was not recorded where copies block the host as well, which they would do then in their place.
    const EventColumns& events = input_.timeline.events;
    const bool recorded = segment.event != kNoEvent && events.kind[segment.event] != EventKind::annotation;
    const bool hidden_without_waits = segment.cause == HostCause::work &&
                                      is_part_of_launching(input_.timeline, segment) && (recorded || !copies_block_) &&
                                      lead_[0].ns + lead_[1].ns + lead_[2].ns >= rest.end - rest.start;
    if (is_dispatching(segment.cause) || hidden_without_waits) {
      for (Lead& lead : lead_) {
        const std::int64_t taken = std::min(lead.ns, rest.end - rest.start);
        lead.ns -= taken;
        rest = take(lead.part, taken, rest, lead.event, next);
      }
    } else if (segment.cause == HostCause::sync) {
      const std::int64_t returning = std::min(rest.end - rest.start, kOwnWorkNs);
      rest = take(Part::idle_sync, returning, rest, segment.event, next);
      return give(Part::idle_blocking_call, rest, segment.event, next);
    }
    give(part_of(segment.cause), rest, segment.event, next);
  }

  /// The host's lead that waits before `time` took away.
  void refill(std::int64_t time) {
    const auto& calls = input_.host.blocking_calls();
    const auto& steps = input_.steps.analyzed;
    for (; next_call_ < calls.size() && calls[next_call_].end <= time; ++next_call_) {
      const BlockingCall& call = calls[next_call_];
      if (call.end < input_.steps.start()) continue;
      for (; next_step_ < steps.size() && steps[next_step_].start_ns <= call.end; ++next_step_) {
        for (Lead& lead : lead_) lead.ns = std::min(lead.ns, std::exchange(lead.waited_in_step, 0));
      }
      Lead& lead = lead_[call.cause == HostCause::sync ? 0 : call.cause == HostCause::transfer ? 1 : 2];
      lead.ns += call.waited_ns;
      lead.waited_in_step += call.waited_ns;
      if (call.waited_ns > 0) lead.event = call.event;
    }
  }

  Interval take(Part part, std::int64_t ns, const Interval& from, EventIndex host_event, EventIndex next) {
    give(part, {from.start, from.start + ns}, host_event, next);
    return {from.start + ns, from.end};
  }

  void give(Part part, Interval piece, EventIndex host_event, EventIndex next) {
    const bool held = part == Part::idle_kernel_gap && piece.end - piece.start > kOwnWorkNs;  // by an event
    const bool waits = (part == Part::idle_blocking_call || part == Part::idle_sync) && host_event != kNoEvent &&
                       syncs_.contains(input_.timeline.events.name[host_event]);
    if (input_.other_gpus != nullptr && (held || waits)) {
      const std::int64_t for_others = input_.other_gpus->covered(piece.start, piece.end);
      piece = take(Part::idle_waiting_for_rank, for_others, piece, host_event, next);
    }
    if (piece.end <= piece.start) return;
    const auto index = static_cast<std::size_t>(part);
    const bool by_host = part == Part::idle_launch || part == Part::idle_optimizer || part == Part::idle_profiler ||
                         part == Part::idle_data_loading;
    if (by_host && !exchanges_) breakdown_.late_host.push_back(piece);
    if (part == Part::idle_launch && exchanges_ && exchanged_) {
      breakdown_.between_collectives_ns += piece.end - piece.start;
    }
    breakdown_.ns[index] += piece.end - piece.start;
    breakdown_.pieces[index] += 1;
    if (is_named_by_host(part)) {
      const NameId name = host_event == kNoEvent ? 0 : input_.timeline.events.name[host_event];
      breakdown_.host_names[{part, name}] += piece.end - piece.start;
    }
    if (part == Part::idle_data_loading) breakdown_.loading.push_back({piece.start, piece.end, host_event, next});
    if (has_stacks_) breakdown_.all_pieces.push_back({part, {piece.start, piece.end, host_event, next}});
    std::vector<IdlePiece>& longest = breakdown_.longest[index];
    const auto shorter = [&piece](const IdlePiece& one) { return one.end - one.start < piece.end - piece.start; };
    const auto at = std::find_if(longest.begin(), longest.end(), shorter);
    if (at == longest.end() && longest.size() == kShown) return;
    longest.insert(at, {piece.start, piece.end, host_event, next});
    if (longest.size() > kShown) longest.pop_back();
  }

  const BreakdownInput& input_;
  Breakdown& breakdown_;
  NameSet copies_;
  NameSet syncs_;
  std::vector<Launch> launches_;  // ascending by time
  std::size_t next_missing_ = 0;
  Coverage overhead_;
  bool has_stacks_ = false;
  std::int64_t step_ns_ = 0;
  bool copies_block_ = false;  ///< the host, in every step
  std::size_t next_ = 0;
  bool exchanges_ = false;  ///< what ends this stretch ...
  bool exchanged_ = false;  ///< ... and the work before it
  std::size_t next_call_ = 0;
  std::size_t next_step_ = 0;
  RecordingDebt debt_;
  Lead lead_[3] = {{Part::idle_sync}, {Part::idle_host_transfer}, {Part::idle_allocation}};
  std::vector<HostSegment> segments_;
};

}  // namespace

Part part_of(HostCause cause) {
  switch (cause) {
    case HostCause::data_loading: return Part::idle_data_loading;
    case HostCause::allocation: return Part::idle_allocation;
    case HostCause::transfer: return Part::idle_host_transfer;
    case HostCause::reading:
    case HostCause::sync: return Part::idle_sync;
    case HostCause::optimizer: return Part::idle_optimizer;
    case HostCause::work: return Part::idle_host_work;
    case HostCause::input: return Part::idle_waiting_for_input;
    case HostCause::held: return Part::idle_blocking_call;
    default: return Part::idle_launch;
  }
}

bool is_named_by_host(Part part) {
  return part == Part::idle_host_work || part == Part::idle_waiting_for_input || part == Part::idle_blocking_call;
}

void explain_idle(const BreakdownInput& input, std::span<const Interval> gaps, Breakdown& breakdown) {
  Explainer explainer(input, breakdown);
  for (const Interval& gap : gaps) explainer.explain(gap);
}

}  // namespace warpmark::analyze
