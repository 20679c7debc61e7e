#include "analyze/replay/replay.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "analyze/host/segment_names.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/order_statistics.h"
#include "analyze/recorded/recording_debt.h"
#include "analyze/recorded/scales.h"
#include "analyze/replay/replay_together.h"

namespace warpmark::analyze {

namespace {

constexpr std::size_t kMostWorks = 400'000;

struct Order {
  std::size_t work;
  std::int64_t launch;
  std::int64_t launch_end;
  std::uint32_t track;
  bool uploads;
  bool downloads;
  bool reads;               ///< a value or a few, where `downloads` moves data; or is there for such a read
  bool blocks;              ///< the launch call waited for this work
  std::int64_t downloaded;  ///< bytes, if `downloads`
};

std::int64_t median_lead(std::span<const Order> order, const WorkList& list) {
  std::vector<std::int64_t> leads;
  for (const Order& one : order) leads.push_back(list.works[one.work].start - one.launch_end);
  return upper_median(std::move(leads));
}

/// A host that never lets the GPU idle, and yet gets no further ahead of it, is held back, if by nothing that was
/// recorded: a long stretch between two calls is no work that has to be done.
bool is_held_back(std::span<const Order> order, const WorkList& list, const Coverage& gpu_busy, const Steps& steps) {
  const auto length = static_cast<double>(steps.length());
  if (static_cast<double>(gpu_busy.covered(steps.start(), steps.end())) < kNearlyAll * length) return false;
  const std::size_t third = order.size() / kFewest;  // the first one may still fill the queue
  if (third == 0) return true;
  const std::int64_t first = median_lead(order.subspan(third, third), list);
  const std::int64_t last = median_lead(order.last(third), list);
  return static_cast<double>(last - first) < kMatters * length;
}

/// A work on its stream, for the one that ended last. Of those that ended together the lowest stream comes last, and on
/// it the work that began last.
struct Ended {
  std::int64_t end = 0;
  std::uint32_t stream = 0;
  std::size_t position = SIZE_MAX;  ///< by start
  std::size_t work = 0;             ///< in launch order
  bool operator<(const Ended& other) const {
    if (end != other.end) return end < other.end;
    return stream != other.stream ? stream > other.stream : position < other.position;
  }
};

/// What the host did between two launches, recording costs and waits taken off.
class HostTime {
 public:
  HostTime(const Timeline& timeline, const WorkList& list, const HostActivity& host, const Coverage& gpu_busy,
           std::int64_t step_ns, bool held_back)
      : timeline_(timeline),
        list_(list),
        host_(host),
        gpu_busy_(gpu_busy),
        step_ns_(step_ns),
        held_back_(held_back),
        queue_full_(intervals_with_full_queue(timeline)),
        debt_(recording_cost(timeline).most_share, kOwnWorkNs) {}

  void fill(const Order& from, const Order& to, ReplayWork& work) {
    segments_.clear();
    host_.segments(to.track, from.track, from.launch, to.launch, segments_);
    name_by_works({.to_upload = to.uploads,
                   .between_values = from.reads && to.reads,
                   .downloaded = to.downloaded,
                   .step_ns = step_ns_,
                   .timeline = timeline_},
                  segments_, unblocked(from, to));
    std::int64_t blocked = blocked_by_queue(from);
    std::int64_t most_waited = 0;
    if (from.blocks && to.launch != from.launch) {
      blocked = std::max<std::int64_t>(0, from.launch_end - from.launch - kPlainLaunchNs);
      most_waited = gpu_busy_.covered(from.launch, from.launch_end);
      work.wait = HostCause::dispatch;
      work.host_before_wait_ns = clamp(kUnrecordedLaunchNs);
    }
    std::int64_t so_far = 0;
    for (const HostSegment& segment : segments_) {
      std::int64_t length = segment.end - segment.start;
      if (segment.cause != HostCause::data_loading) {
        debt_.add(segment.recording_ns);
        const std::int64_t held = segment.start < from.launch_end ? blocked : 0;
        length -= std::min(length, std::max(held, queue_full_.covered(segment.start, segment.end)));
      }
      const bool may_wait = segment.cause == HostCause::sync || segment.cause == HostCause::allocation ||
                            (segment.cause == HostCause::transfer && !host_.stages_copy(segment));
      if (may_wait) {
        const std::int64_t waited = gpu_busy_.covered(segment.start, segment.end);
        length -= std::min(length, waited);
        if (waited > most_waited) {
          most_waited = waited;
          work.wait = segment.cause;
          work.host_before_wait_ns = clamp(so_far);
        }
        // A call returns at once. Who is woken by a thread of the runtime that read the value waits for that one, too.
        if (segment.cause == HostCause::sync)
          length = host_.awaits_read(segment) ? without_recording(length) : std::min(length, kLatencyNs);
      } else if (held_back_ && length >= kOwnWorkNs && is_unrecorded(segment.cause)) {
        const std::int64_t waited = gpu_busy_.covered(segment.start, segment.end);
        length -= std::min(length, waited);
        // It went on when the GPU had done all.
        if (waited > most_waited && from.track == to.track && list_.works[from.work].end <= to.launch) {
          most_waited = waited;
          work.wait = HostCause::other;
          work.host_before_wait_ns = clamp(so_far);
        }
      } else if (segment.cause != HostCause::data_loading) {
        length = without_recording(length);
      }
      work.host_ns[static_cast<std::size_t>(segment.cause)] += clamp(length);
      so_far += length;
    }
  }

 private:
  static std::int32_t clamp(std::int64_t ns) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(ns, 0, std::numeric_limits<std::int32_t>::max()));
  }

  /// What an event's recording cost may fall into the stretch after it: what does not fit is carried on.
  std::int64_t without_recording(std::int64_t length) { return length - debt_.take(length); }

  /// The segments in which the host may have worked: none where the GPU holds it back or the queue is full, and not the
  /// call that waited for a place in it.
  std::span<HostSegment> unblocked(const Order& from, const Order& to) {
    if (held_back_ || queue_full_.covered(from.launch, to.launch) > 0) return {};
    std::size_t first = 0;
    if (blocked_by_queue(from) > 0) {
      while (first < segments_.size() && segments_[first].start < from.launch_end) ++first;
    }
    return std::span(segments_).subspan(first);
  }

  /// A launch call that lasts long while the GPU is busy waited for a place in the queue.
  std::int64_t blocked_by_queue(const Order& from) const {
    const std::int64_t length = from.launch_end - from.launch;
    const auto busy = static_cast<double>(gpu_busy_.covered(from.launch, from.launch_end));
    const double least = length < kHeldLaunchNs ? kNearlyAll : 0.5;
    if (length < kDispatchNs || busy < least * static_cast<double>(length)) return 0;
    return length - kPlainLaunchNs;
  }

  const Timeline& timeline_;
  const WorkList& list_;
  const HostActivity& host_;
  const Coverage& gpu_busy_;
  std::int64_t step_ns_;
  bool held_back_;
  Coverage queue_full_;  // also told where the GPU's work before the recording was not recorded
  std::vector<HostSegment> segments_;
  RecordingDebt debt_;
};

}  // namespace

Replay::Replay(const Timeline& timeline, const WorkList& list, const Steps& steps, const HostActivity& host,
               const Coverage& gpu_busy, const RankAlignment& alignment) {
  if (steps.analyzed.empty() || list.empty()) return;
  const EventColumns& events = timeline.events;
  std::int64_t end = steps.start();
  std::size_t in_window = 0;
  for (const StepSpan& span : steps.analyzed) {  // as many whole steps as the cap allows
    const auto first = std::ranges::lower_bound(list.works, span.start_ns, {}, &GpuWork::start);
    const auto last = std::ranges::lower_bound(first, list.works.end(), span.end_ns, {}, &GpuWork::start);
    const auto works = static_cast<std::size_t>(last - first);
    if (steps_ > 0 && in_window + works > kMostWorks) break;
    in_window += works;
    end = span.end_ns;
    ++steps_;
  }
  std::vector<Order> order;
  std::int64_t unknown = 0;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    const GpuWork& work = list.works[i];
    if (work.start < steps.start() || work.start > end) continue;
    const bool known = work.launch != kNoEvent;
    unknown += !known;
    const bool blocks = host.debug_modes().launches_block && known && !is_copy(work.category) &&
                        outlasts(events.end(work.launch), work.end);
    const bool moves_back = work.downloads;
    const bool reads = work.category == Category::copy_to_host;
    order.push_back({i, known ? events.start[work.launch] : work.start, known ? events.end(work.launch) : work.start,
                     known ? events.track[work.launch] : 0, host.loads_before_uploads() && uploads(timeline, work),
                     moves_back, reads && !moves_back, blocks, moves_back ? events.value[work.event] : 0});
  }
  knows_host_ = static_cast<double>(unknown) < (1 - kNearlyAll) * static_cast<double>(order.size());
  std::sort(order.begin(), order.end(), [](const Order& a, const Order& b) {
    return a.launch != b.launch ? a.launch < b.launch : a.work < b.work;
  });
  std::map<std::uint32_t, std::uint32_t> streams;
  HostTime host_time(timeline, list, host, gpu_busy, steps.length() / std::ssize(steps.analyzed),
                     knows_host_ && is_held_back(order, list, gpu_busy, steps));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const GpuWork& work = list.works[order[i].work];
    if (work.start >= end) continue;  // the first work of the next step: its launch ends the last stretch of host time
    ReplayWork one;
    one.work = order[i].work;
    one.stream = streams.try_emplace(work.track, static_cast<std::uint32_t>(streams.size())).first->second;
    one.duration_ns = work.end - work.start;
    if (one.work < alignment.wait_until.size()) {
      one.rendezvous = alignment.rendezvous[one.work];
      const std::int64_t until = alignment.wait_until[one.work];
      // A message waits for what is not replayed with it: the work of the rank at its other end.
      if (until > work.start && alignment.late_rank[one.work] != kNoRank)
        one.duration_ns = std::max<std::int64_t>(0, work.end - until);
    }
    if (knows_host_ && i + 1 < order.size()) host_time.fill(order[i], order[i + 1], one);
    works_.push_back(one);
  }
  streams_ = static_cast<std::uint32_t>(streams.size());
  find_dependencies(list);
}

/// A work that began later than its launch and its stream explain waited for the work on another stream that ended last
/// before it began.
void Replay::find_dependencies(const WorkList& list) {
  if (streams_ < 2) return;
  std::vector<std::size_t> by_start(works_.size());
  for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
  std::sort(by_start.begin(), by_start.end(), [this, &list](std::size_t a, std::size_t b) {
    return list.works[works_[a].work].start < list.works[works_[b].work].start;
  });
  std::set<Ended> ended;  // the last two works of each stream
  std::vector<std::set<Ended>::iterator> last(streams_, ended.end());
  std::vector<std::set<Ended>::iterator> before_last(streams_, ended.end());
  for (std::size_t position = 0; position < by_start.size(); ++position) {
    const std::size_t i = by_start[position];
    ReplayWork& one = works_[i];
    const GpuWork& work = list.works[one.work];
    const std::int64_t own_end = last[one.stream] == ended.end() ? 0 : last[one.stream]->end;
    const std::int64_t earliest = std::max(own_end + 1, work.start - 2 * kPlainLaunchNs);
    for (auto at = ended.upper_bound({.end = work.start + kUnrecordedLaunchNs}); at != ended.begin();) {
      --at;
      if (at->end < earliest) break;
      if (at->stream == one.stream || at->work >= i) continue;
      one.waits_for = static_cast<std::int32_t>(at->work);
      break;
    }
    if (before_last[one.stream] != ended.end()) ended.erase(before_last[one.stream]);
    before_last[one.stream] = last[one.stream];
    last[one.stream] = ended.insert({work.end, one.stream, position, i}).first;
  }
}

double Replay::step_ns(const WhatIf& change) const {
  const Replay* alone = this;
  return step_together_ns({&alone, 1}, {&change, 1});
}

double Replay::host_ns(HostCause cause) const {
  double sum = 0;
  for (const ReplayWork& one : works_) sum += static_cast<double>(one.host_ns[static_cast<std::size_t>(cause)]);
  return steps_ > 0 ? sum / steps_ : 0;
}

}  // namespace warpmark::analyze
