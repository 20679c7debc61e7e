#include "analyze/replay/idle_causes.h"

#include <algorithm>

#include "analyze/host/segment_names.h"
#include "analyze/names/api_calls.h"
#include "analyze/recorded/recording_debt.h"

namespace warpmark::analyze {

namespace {

constexpr std::size_t kLongestKept = 5;
constexpr std::int64_t kLongHostNs = 500'000;  // an unrecorded stretch above this is not the glue between operators
constexpr std::int64_t kLongStartNs = 20'000;  // of work that nothing keeps from beginning; usual are 1 to 5 us
// Recording costs carried on. Idle stretches are few: what recording cost while the GPU was busy shows in the next one,
// where the replay sees every stretch and carries a tenth of it.
constexpr std::int64_t kMostDebtNs = 1'000'000;

struct Launch {
  std::int64_t time;
  std::uint32_t track;
};

class Explainer {
 public:
  Explainer(const BreakdownInput& input, Breakdown& breakdown)
      : input_(input), breakdown_(breakdown), debt_(recording_cost(input.timeline).most_share, kMostDebtNs) {
    const EventColumns& events = input.timeline.events;
    for (const GpuWork& work : input.list.works) {
      if (work.launch != kNoEvent) launches_.push_back({events.start[work.launch], events.track[work.launch]});
    }
    std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) { return a.time < b.time; });
    std::vector<Interval> overhead;
    for (EventIndex i = 0; i < events.size(); ++i) {
      has_stacks_ = has_stacks_ || events.kind[i] == EventKind::python;
      if (events.kind[i] != EventKind::overhead) continue;
      if (tells_full_queue(input.timeline.name_of(i))) continue;
      overhead.push_back({events.start[i], events.end(i)});
    }
    overhead_ = Coverage(std::move(overhead));
    step_ns_ = input.steps.length() / std::ssize(input.steps.analyzed);
  }

  void explain(const Interval& gap) {
    const EventColumns& events = input_.timeline.events;
    const auto& works = input_.list.works;
    const auto next = std::partition_point(works.begin() + static_cast<std::ptrdiff_t>(next_), works.end(),
                                           [&gap](const GpuWork& work) { return work.start < gap.end; });
    next_ = static_cast<std::size_t>(next - works.begin());
    exchanges_ = next != works.end() && next->exchanges;
    exchanged_ = next != works.begin() && std::prev(next)->exchanges;
    if (next == works.end() || next->launch == kNoEvent) return give(Part::idle_unknown, gap, kNoEvent, kNoEvent);
    const std::int64_t launch = events.start[next->launch];
    const Part launching = next->in_optimizer ? Part::idle_optimizer : Part::idle_launch;
    if (launch <= gap.start) {
      const bool late = events.end(next->launch) > gap.start;
      return give(late                         ? launching
                  : waits_for_host(*next, gap) ? Part::idle_host_transfer
                                               : Part::idle_kernel_gap,
                  gap, next->launch, next->event);
    }
    const std::int64_t handed_over = std::min(gap.end, launch);
    const std::uint32_t track = events.track[next->launch];
    segments_.clear();
    const std::uint32_t before = track_before(launch, track);
    input_.host.segments(track, before, gap.start, handed_over, segments_);
    // What the host did before it read a single value was not for the copy.
    const bool prepares = next->category == Category::copy_to_host && handed_over - gap.start > kLongHostNs &&
                          events.value[next->event] > kOneNumberBytes;
    name_by_works({.after_download = next != works.begin() && std::prev(next)->downloads,
                   .to_upload = uploads(input_.timeline, *next),
                   .leads_to_upload = next->leads_to_upload,
                   .to_download = next->downloads && track != before,
                   .makes_room = prepares,
                   .step_ns = step_ns_},
                  segments_, segments_);
    waited_ = kNoEvent;
    for (const HostSegment& segment : segments_) explain(segment, next->event);
    give(launching, {handed_over, gap.end}, next->launch, next->event);
  }

 private:
  /// Nothing on the GPU keeps a copy from beginning that has been launched: it waits for the host's part of the copies
  /// before it, which runs in its stream (cuLaunchHostFunc), or for their memory.
  static bool waits_for_host(const GpuWork& work, const Interval& gap) {
    return work.downloads && gap.end - gap.start >= kLongStartNs;
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
    if (is_dispatching(segment.cause)) {
      if (waited_ != kNoEvent) return give(waited_for_, rest, waited_, next);
      const bool long_host = segment.cause != HostCause::dispatch && segment.end - segment.start > kLongHostNs;
      for (Lead& lead : lead_) {
        const std::int64_t taken = std::min(lead.ns, rest.end - rest.start);
        lead.ns -= taken;
        rest = take(lead.part, taken, rest, lead.event, next);
      }
      return give(long_host ? Part::idle_host : Part::idle_launch, rest, segment.event, next);
    }
    if (segment.cause == HostCause::sync || segment.cause == HostCause::transfer) {
      waited_ = segment.event;  // the queue is empty because the host was not there
      waited_for_ = part_of(segment.cause);
    }
    give(part_of(segment.cause), rest, segment.event, next);
  }

  /// The host's lead that waits before `time` took away.
  void refill(std::int64_t time) {
    const auto& calls = input_.host.blocking_calls();
    for (; next_call_ < calls.size() && calls[next_call_].end <= time; ++next_call_) {
      if (calls[next_call_].end < input_.steps.start()) continue;
      Lead& lead = lead_[calls[next_call_].cause == HostCause::sync       ? 0
                         : calls[next_call_].cause == HostCause::transfer ? 1
                                                                          : 2];
      lead.ns += calls[next_call_].waited_ns;
      if (calls[next_call_].waited_ns > 0) lead.event = calls[next_call_].event;
    }
  }

  static Part part_of(HostCause cause) {
    switch (cause) {
      case HostCause::data_loading: return Part::idle_data_loading;
      case HostCause::allocation: return Part::idle_allocation;
      case HostCause::transfer: return Part::idle_host_transfer;
      case HostCause::reading:
      case HostCause::sync: return Part::idle_sync;
      case HostCause::optimizer: return Part::idle_optimizer;
      default: return Part::idle_launch;
    }
  }

  Interval take(Part part, std::int64_t ns, const Interval& from, EventIndex host_event, EventIndex next) {
    give(part, {from.start, from.start + ns}, host_event, next);
    return {from.start + ns, from.end};
  }

  void give(Part part, const Interval& piece, EventIndex host_event, EventIndex next) {
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
    if (has_stacks_) breakdown_.all_pieces.push_back({part, {piece.start, piece.end, host_event, next}});
    std::vector<IdlePiece>& longest = breakdown_.longest[index];
    const auto shorter = [&piece](const IdlePiece& one) { return one.end - one.start < piece.end - piece.start; };
    const auto at = std::find_if(longest.begin(), longest.end(), shorter);
    if (at == longest.end() && longest.size() == kLongestKept) return;
    longest.insert(at, {piece.start, piece.end, host_event, next});
    if (longest.size() > kLongestKept) longest.pop_back();
  }

  struct Lead {
    Part part;
    std::int64_t ns = 0;
    EventIndex event = kNoEvent;
  };

  const BreakdownInput& input_;
  Breakdown& breakdown_;
  std::vector<Launch> launches_;  // ascending by time
  Coverage overhead_;
  bool has_stacks_ = false;
  std::int64_t step_ns_ = 0;
  std::size_t next_ = 0;
  bool exchanges_ = false;  ///< what ends this stretch ...
  bool exchanged_ = false;  ///< ... and the work before it
  std::size_t next_call_ = 0;
  RecordingDebt debt_;
  EventIndex waited_ = kNoEvent;  ///< the host's wait for the GPU, or for a copy, that ended in this stretch
  Part waited_for_ = Part::idle_sync;
  Lead lead_[3] = {{Part::idle_sync}, {Part::idle_host_transfer}, {Part::idle_allocation}};
  std::vector<HostSegment> segments_;
};

}  // namespace

void explain_idle(const BreakdownInput& input, std::span<const Interval> gaps, Breakdown& breakdown) {
  Explainer explainer(input, breakdown);
  for (const Interval& gap : gaps) explainer.explain(gap);
}

}  // namespace warpmark::analyze
