// What a host thread does at every instant, as far as it explains why the GPU waits: loading data, allocating, copying,
// waiting for the GPU, updating parameters, dispatching work, or something that was not recorded.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "analyze/debug_modes.h"
#include "analyze/intervals.h"
#include "analyze/recording_cost.h"
#include "analyze/work_list.h"
#include "model/timeline.h"

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
  /// what is there for the host to see a value, beside the wait for it: operators that read one, those that only pick
  /// the next of many to be read, anomaly mode's checks and stacks. Who does not look needs none of it
  reading,
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
  /// The segment copies in the host's memory, for which it need not wait for the GPU.
  [[nodiscard]] bool stages_copy(const HostSegment& segment) const { return staging_.contains(segment.event); }
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
  void add_hidden_waits(const std::vector<HiddenWait>& waits, const std::vector<bool>& wanted,
                        const Coverage& gpu_busy);
  static void put_over(Track& track, const std::vector<const HiddenWait*>& waits);
  void add_staged_uploads(const Timeline& timeline, const WorkList& list);
  [[nodiscard]] std::int64_t cost_within(const Track& track, std::int64_t from, std::int64_t to) const;

  std::vector<Track> tracks_;
  std::vector<BlockingCall> blocking_;
  std::unordered_set<EventIndex> staging_;
  std::unordered_set<EventIndex> hidden_reads_;
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
/// Also in an optimizer's step.
[[nodiscard]] constexpr bool is_dispatching_anything(HostCause cause) {
  return is_dispatching(cause) || cause == HostCause::optimizer;
}
/// Long host work that ends with an upload prepares the input, whether or not somebody named it so: renames the
/// dispatching segments before an upload to data_loading if they (without recording costs) last longer than 300 us and
/// a fortieth of a step.
void name_loading_before_upload(std::span<HostSegment> segments, std::int64_t step_ns);
/// The same before a work that only leads to an upload, of what the host does in no operator: if that lasts longer than
/// 1 ms and a tenth of a step.
void name_loading_ahead_of_upload(std::span<HostSegment> segments, std::int64_t step_ns);
/// Between a download and the upload that follows it the host computes on what it copied: the whole round trip is a
/// transfer.
void name_round_trip(std::vector<HostSegment>& segments);
/// What the host does after a download for longer than dispatching takes (300 us), in an operator or outside of all, is
/// work on what it copied, and giving back its memory: renames it to transfer.
void name_work_on_download(std::vector<HostSegment>& segments);
/// Before a download that a thread of its own launches, or that the GPU waits for, the host makes room for what is
/// copied: renames what it does as long outside of all operators and calls.
void name_room_for_download(std::vector<HostSegment>& segments);
/// Between two reads of values with no other work of the GPU the operators only pick the next value (`x[i][j]`): one
/// copy of all of them needs none. Renames their segments to reading, and the glue between them (below 20 us); what
/// the program itself does longer stays.
void name_picking(std::vector<HostSegment>& segments);

[[nodiscard]] bool is_launch_call(std::string_view api);
[[nodiscard]] bool is_sync_call(std::string_view api);
[[nodiscard]] bool is_allocation_call(std::string_view api);
[[nodiscard]] bool is_copy_call(std::string_view api);
/// As torch.distributed names the ranges of its backends on the host, Gloo and MPI: sums between two copies, no
/// barriers.
[[nodiscard]] bool is_host_collective(std::string_view range);

}  // namespace warpmark::analyze
