// What a host thread does at every instant, as far as it explains why the GPU waits: loading data, allocating, copying,
// waiting for the GPU, updating parameters, dispatching work, or something that was not recorded.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "analyze/host/debug_modes.h"
#include "analyze/recorded/intervals.h"
#include "analyze/recorded/recording_cost.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

enum class HostCause : std::uint8_t {
  none,  ///< nothing recorded on this thread
  data_loading,
  allocation,
  transfer,
  sync,
  optimizer,
  dispatch,
  other,  ///< inside a range or Python function, but in no operator or call
  work,   ///< an operator, range or function of the host alone, that launches nothing and lasts
  input,  ///< blocked until somebody sends something: a request, a batch, another thread's result
  /// what is there for the host to see a value, beside the wait for it: operators that read one, and those that only
  /// pick the next of many to be read. Who does not look needs none of it
  reading,
  held,  ///< in a call that launches or creates, for far longer than that takes: the driver loads code or sets itself
         ///< up
  count,
};
inline constexpr std::size_t kHostCauses = static_cast<std::size_t>(HostCause::count);

struct HiddenWait;

/// A call that may have waited for the GPU.
struct BlockingCall {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t waited_ns = 0;  ///< of it, time in which the GPU was busy
  EventIndex event = kNoEvent;
  HostCause cause = HostCause::sync;
};

struct HostSegment {
  std::int64_t start = 0;
  std::int64_t end = 0;
  HostCause cause = HostCause::none;
  EventIndex event = kNoEvent;    ///< innermost event that gives the cause
  std::int64_t recording_ns = 0;  ///< estimated cost of recording the events that begin in it
};

class HostActivity {
 public:
  HostActivity(const Timeline& timeline, const WorkList& list, const Coverage& gpu_busy);

  /// The segments of [from, to) on `track`; where it has nothing recorded, those of `fallback`. Appends to `out`.
  void segments(std::uint32_t track, std::uint32_t fallback, std::int64_t from, std::int64_t to,
                std::vector<HostSegment>& out) const;
  /// All blocking calls outside of data loading, ascending by end.
  [[nodiscard]] const std::vector<BlockingCall>& blocking_calls() const { return blocking_; }
  [[nodiscard]] const DebugModes& debug_modes() const { return modes_; }
  /// Estimated cost of recording the host events of [from, to) on all threads that launch.
  [[nodiscard]] std::int64_t recording_ns(std::int64_t from, std::int64_t to) const;
  /// The segment copies in the host's memory, for which it need not wait for the GPU.
  [[nodiscard]] bool stages_copy(const HostSegment& segment) const { return staging_.contains(segment.event); }
  /// The call launches or creates, and takes far longer than that.
  [[nodiscard]] bool is_held(EventIndex call) const { return held_.contains(call); }
  /// What the host does before an upload, where nobody named it, is loading: a framework's program trains and infers on
  /// what it loads. Not where its threads name their loading.
  [[nodiscard]] bool loads_before_uploads() const { return loads_before_uploads_; }
  /// The segment is a wait that no call tells for what was copied to the host.
  [[nodiscard]] bool awaits_read(const HostSegment& segment) const { return hidden_reads_.contains(segment.event); }

 private:
  struct Track {
    std::vector<std::int64_t> time;  // cause[i] and event[i] hold from time[i] to time[i + 1]
    std::vector<HostCause> cause;
    std::vector<EventIndex> event;
    std::vector<std::int64_t> cost_time;
    std::vector<std::int64_t> cost_sum;  // of all events before
    std::int64_t cost = 0;
  };
  struct Builder;
  void name_loading_by_stacks(const Timeline& timeline, const std::vector<bool>& wanted);
  void name_by_other_threads(const Timeline& timeline, const std::vector<EventIndex>& of_other_threads);
  void add_hidden_waits(const std::vector<HiddenWait>& waits, const std::vector<bool>& wanted,
                        const Coverage& gpu_busy);
  static void put_over(Track& track, const std::vector<const HiddenWait*>& waits);
  [[nodiscard]] std::int64_t cost_within(const Track& track, std::int64_t from, std::int64_t to) const;

  std::vector<Track> tracks_;
  std::vector<BlockingCall> blocking_;
  std::unordered_set<EventIndex> staging_;
  std::unordered_set<EventIndex> held_;
  std::unordered_set<EventIndex> hidden_reads_;
  bool loads_before_uploads_ = false;
  DebugModes modes_;
};

/// Host time in no operator or call.
[[nodiscard]] constexpr bool is_unrecorded(HostCause cause) {
  return cause == HostCause::none || cause == HostCause::other;
}
/// Host time of the glue between operators: dispatching, or nothing that was recorded.
[[nodiscard]] constexpr bool is_dispatching(HostCause cause) {
  return cause == HostCause::dispatch || is_unrecorded(cause);
}
/// Host time that nothing of the GPU's API explains: it may prepare the input of what comes next.
[[nodiscard]] constexpr bool may_prepare(HostCause cause) {
  return is_dispatching(cause) || cause == HostCause::work || cause == HostCause::input;
}
/// Also in an optimizer's step.
[[nodiscard]] constexpr bool is_dispatching_anything(HostCause cause) {
  return is_dispatching(cause) || cause == HostCause::optimizer;
}
}  // namespace warpmark::analyze
