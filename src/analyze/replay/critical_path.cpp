#include "analyze/replay/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "analyze/host/segment_names.h"
#include "analyze/replay/idle_causes.h"

namespace warpmark::analyze {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

class Walk {
 public:
  explicit Walk(const PathInput& input) : input_(input), begin_(input.steps.start()), at_(input.steps.end()) {
    const auto& works = input.list.works;
    before_.assign(works.size(), kNone);
    other_.assign(works.size(), kNone);
    std::map<std::uint32_t, std::size_t> last;  // by stream
    for (std::size_t i = 0; i < works.size(); ++i) {
      const auto [known, is_first] = last.try_emplace(works[i].track, i);
      if (!is_first) before_[i] = std::exchange(known->second, i);
    }
    for (const ReplayWork& one : input.replay.works()) {
      if (one.waits_for >= 0) other_[one.work] = input.replay.works()[static_cast<std::size_t>(one.waits_for)].work;
    }
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i].launch != kNoEvent) launches_.push_back({input.timeline.events.start[works[i].launch], i});
    }
    std::ranges::stable_sort(launches_, {}, &Launched::time);
    by_end_.resize(works.size());
    std::iota(by_end_.begin(), by_end_.end(), std::size_t{0});
    std::ranges::stable_sort(by_end_, {}, [&works](std::size_t i) { return works[i].end; });
  }

  PathTimes run() {
    const auto& works = input_.list.works;
    const auto next = std::ranges::lower_bound(works, at_, {}, &GpuWork::start);
    std::size_t work = next == works.end() ? kNone : static_cast<std::size_t>(next - works.begin());
    if (work == kNone) {  // the recording ends with the steps
      work = ended_by(at_);
      if (work != kNone) work = through(work);
    }
    while (work != kNone && at_ > begin_) {
      const std::int64_t from = at_;
      work = what_it_followed(work);
      if (work != kNone) work = through(work);
      if (at_ >= from) break;  // events that contradict one another
    }
    give(Part::idle_unknown, 0, begin_);
    return std::move(times_);
  }

 private:
  /// The path leads back from where it is to `from`.
  void give(Part part, NameId name, std::int64_t from) {
    from = std::max(from, begin_);
    if (from >= at_) return;
    times_[{part, name}] += at_ - from;
    at_ = from;
  }

  /// The work that ended last until then.
  [[nodiscard]] std::size_t ended_by(std::int64_t time) const {
    const auto at =
        std::ranges::upper_bound(by_end_, time, {}, [this](std::size_t i) { return input_.list.works[i].end; });
    return at == by_end_.begin() ? kNone : *std::prev(at);
  }

  /// Over the work itself, of which a collective may have waited for another rank first.
  std::size_t through(std::size_t i) {
    const GpuWork& work = input_.list.works[i];
    give(Part::idle_kernel_gap, 0, work.end);
    const auto& waits = input_.alignment.wait_until;
    if (i < waits.size() && waits[i] > work.start) {
      give(part_of(work.category), 0, waits[i]);
      give(Part::idle_waiting_for_rank, 0, work.start);
    }
    give(part_of(work.category), 0, work.start);
    return i;
  }

  /// The work before on the path; nothing where it ends at the host's beginning.
  std::size_t what_it_followed(std::size_t i) {
    const auto& works = input_.list.works;
    const auto end_of = [&works](std::size_t j) { return j == kNone ? INT64_MIN : works[j].end; };
    const EventIndex launch = works[i].launch;
    std::size_t earlier = end_of(other_[i]) > end_of(before_[i]) ? other_[i] : before_[i];
    if (launch == kNoEvent) earlier = ended_by(at_);
    const bool at_once = earlier != kNone && at_ - end_of(earlier) <= kLatencyNs;
    if (launch == kNoEvent || at_once || input_.timeline.events.start[launch] <= end_of(earlier)) {
      const Part part = launch != kNoEvent || at_once ? Part::idle_kernel_gap : Part::idle_unknown;
      if (earlier != kNone) give(part, 0, works[earlier].end);
      return earlier;
    }
    const NameId call = input_.timeline.events.name[launch];
    const bool held = input_.host.is_held(launch);
    give(held ? Part::idle_blocking_call : Part::idle_launch, held ? call : 0, input_.timeline.events.start[launch]);
    return through_host(i, launch);
  }

  /// From the launch back to the last call that waited for the GPU: the work that it waited for.
  std::size_t through_host(std::size_t i, EventIndex launch) {
    const BlockingCall* call = last_wait_before(at_);
    const std::int64_t from = std::max(begin_, call == nullptr ? begin_ : call->end);
    // Piece by piece between launches, as an idle GPU's time is explained.
    auto next = std::ranges::lower_bound(launches_, input_.timeline.events.start[launch], {}, &Launched::time);
    for (std::size_t launched = i; at_ > from;) {
      while (next != launches_.begin() && std::prev(next)->time >= at_) --next;
      const bool first = next == launches_.begin();
      const std::size_t earlier = first ? launched : std::prev(next)->work;
      host_piece(launched, earlier, first ? from : std::max(from, std::prev(next)->time));
      launched = earlier;
    }
    if (call == nullptr || at_ <= begin_) return kNone;
    // A copy call that stages what it copies returns before the copy has ended.
    if (const std::size_t own = launched_by(*call); own != kNone) return own;
    const std::size_t waited_for = ended_by(call->end);
    if (waited_for == kNone || input_.list.works[waited_for].end < call->start) return kNone;
    const std::int64_t ended = input_.list.works[waited_for].end;
    const bool returns = at_ - ended <= kOwnWorkNs;
    give(returns ? part_of(call->cause) : Part::idle_blocking_call,
         returns ? 0 : input_.timeline.events.name[call->event], ended);
    return waited_for;
  }

  /// From the launch of one work back to that of the one before.
  void host_piece(std::size_t launched, std::size_t earlier, std::int64_t from) {
    const auto track_of = [this](std::size_t j) { return input_.timeline.events.track[input_.list.works[j].launch]; };
    const GpuWork& work = input_.list.works[launched];
    segments_.clear();
    input_.host.segments(track_of(launched), track_of(earlier), from, at_, segments_);
    name_by_works({.to_upload = input_.host.loads_before_uploads() && uploads(input_.timeline, work),
                   .downloaded = work.downloads ? input_.timeline.events.value[work.event] : 0,
                   .step_ns = input_.steps.length() / std::ssize(input_.steps.analyzed),
                   .timeline = input_.timeline},
                  segments_, segments_);
    for (auto one = segments_.rbegin(); one != segments_.rend(); ++one) {
      const Part part = part_of(one->cause);
      const bool named = is_named_by_host(part) && one->event != kNoEvent;
      give(part, named ? input_.timeline.events.name[one->event] : 0, one->start);
    }
    give(Part::idle_launch, 0, from);
  }

  [[nodiscard]] std::size_t launched_by(const BlockingCall& call) const {
    const auto own = std::ranges::lower_bound(launches_, call.start, {}, &Launched::time);
    return own != launches_.end() && input_.list.works[own->work].launch == call.event ? own->work : kNone;
  }

  [[nodiscard]] const BlockingCall* last_wait_before(std::int64_t time) const {
    const auto& calls = input_.host.blocking_calls();
    auto at = std::ranges::upper_bound(calls, time, {}, &BlockingCall::end);
    while (at != calls.begin() && std::prev(at)->waited_ns == 0 && launched_by(*std::prev(at)) == kNone) --at;
    return at == calls.begin() ? nullptr : &*std::prev(at);
  }

  struct Launched {
    std::int64_t time;
    std::size_t work;
  };

  const PathInput& input_;
  const std::int64_t begin_;
  std::int64_t at_;                  ///< the path is known from here on
  std::vector<std::size_t> before_;  ///< per work: on its stream
  std::vector<std::size_t> other_;   ///< per work: on another stream, which it waited for
  std::vector<std::size_t> by_end_;  ///< works, ascending
  std::vector<HostSegment> segments_;
  std::vector<Launched> launches_;  ///< ascending
  PathTimes times_;
};

}  // namespace

PathTimes critical_path(const PathInput& input) { return input.steps.length() > 0 ? Walk(input).run() : PathTimes(); }

}  // namespace warpmark::analyze
