// The GPU work of a timeline with what started it: the API call (by correlation), the operator around that call, and
// what kind of work it is. Everything later counts on this list.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/names/kernel_category.h"
#include "analyze/recorded/intervals.h"
#include "analyze/recorded/scales.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// One piece of GPU work. Times are ns since the timeline's origin.
struct GpuWork {
  std::int64_t start = 0;
  std::int64_t end = 0;
  EventIndex event = kNoEvent;
  EventIndex launch = kNoEvent;  ///< the API call, if recorded
  EventIndex op = kNoEvent;      ///< innermost operator around the call, if recorded
  std::uint32_t track = 0;
  Category category = Category::other;
  MatrixMath math = MatrixMath::none;
  bool in_optimizer = false;  ///< launched inside an optimizer's step

  [[nodiscard]] bool updates_parameters() const { return in_optimizer || category == Category::optimizer; }
  bool downloads = false;  ///< a copy to the host that moves data: more than one value (64 KiB), or one of several
};

struct WorkList {
  std::vector<GpuWork> works;      ///< ascending by start
  std::vector<EventIndex> parent;  ///< for host events the enclosing one on the same thread, else kNoEvent
  std::uint32_t main_stream = 0;   ///< track with most kernel time
  std::int64_t with_launch = 0;    ///< works whose API call is known
  std::int64_t with_op = 0;
  std::int64_t process = 0;  ///< of a list that was split: what launched it
  int number = -1;           ///< of a list that was split: its GPU, or its place where processes share one
  bool empty() const { return works.empty(); }
};

/// A copy of no more reads a value, or brings indices and settings; of more it moves data. Up to here the driver copies
/// pageable memory by itself (CUDA Runtime API, "API synchronization behavior").
inline constexpr std::int64_t kValueBytes = 64 << 10;
/// A copy of no more is one number, complex in double precision at most.
inline constexpr std::int64_t kOneNumberBytes = 16;
/// A copy to the GPU of more than one number, which is an argument of the call that follows and no input (16 bytes).
[[nodiscard]] bool uploads(const Timeline& timeline, const GpuWork& work);

[[nodiscard]] WorkList list_work(const Timeline& timeline);
/// One list for each GPU, and for each process on it, where a timeline holds several that do much of the work (ranks
/// merged into one file, a program with several GPUs); else the list itself.
[[nodiscard]] std::vector<WorkList> split_by_gpu(const Timeline& timeline, WorkList list);
/// Time of the works, on any stream, that begin in [from, to), ns.
[[nodiscard]] std::int64_t work_between(const WorkList& list, std::int64_t from, std::int64_t to);
/// Indices into WorkList::works, ascending.
[[nodiscard]] std::vector<std::size_t> works_of_main_stream(const WorkList& list);
/// Whether the program trains, by an optimizer's step or the names of what was recorded.
[[nodiscard]] bool has_backward_pass(const Timeline& timeline, const WorkList& list);

[[nodiscard]] constexpr bool is_compute(Category category) { return category < Category::communication; }
/// Between host and device.
[[nodiscard]] constexpr bool is_host_copy(Category category) {
  return category == Category::copy_to_device || category == Category::copy_to_host;
}
[[nodiscard]] constexpr bool is_copy(Category category) {
  return is_host_copy(category) || category == Category::copy_on_device;
}
/// A copy on the device is a pass over memory like any elementwise kernel.
[[nodiscard]] constexpr bool is_elementwise(Category category) {
  return category == Category::elementwise || category == Category::copy_on_device;
}

/// Whether `wanted(event)` holds of the host event or of one around it on its thread.
template <typename Predicate>
[[nodiscard]] bool any_around(const WorkList& list, EventIndex at, Predicate wanted) {
  while (at != kNoEvent && !wanted(at)) at = list.parent[at];
  return at != kNoEvent;
}

/// A copy between host and GPU of data, not of a value.
[[nodiscard]] inline bool moves_data(const GpuWork& work) {
  return work.category == Category::copy_to_device || work.downloads;
}

/// Union of the works that `wanted(work)` accepts.
template <typename Predicate>
[[nodiscard]] std::vector<Interval> busy_intervals(const WorkList& list, Predicate wanted) {
  std::vector<Interval> intervals;
  for (const GpuWork& work : list.works) {
    if (wanted(work)) intervals.push_back({work.start, work.end});
  }
  return united(std::move(intervals));
}

}  // namespace warpmark::analyze
