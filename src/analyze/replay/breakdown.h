// Where the time of the analyzed steps goes: every nanosecond of a rank's steps is given to exactly one part, so the
// parts sum to the steps. Definitions and priorities: docs/metrics/analyze.md, section "Breakdown".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyze/host/host_activity.h"
#include "analyze/recorded/work_list.h"
#include "analyze/steps/steps.h"
#include "model/analysis.h"

namespace warpmark::analyze {

/// The first eleven equal the compute categories of Category, in its order.
enum class Part : std::uint8_t {
  gemm,
  convolution,
  attention,
  normalization,
  softmax,
  elementwise,
  reduction,
  gather,
  optimizer,
  graph,
  other_kernels,
  exposed_communication,
  exposed_copy_to_device,
  exposed_copy_to_host,
  exposed_copy_on_device,
  exposed_memset,
  idle_data_loading,
  idle_host_transfer,
  idle_sync,
  idle_allocation,
  idle_waiting_for_rank,
  idle_optimizer,
  idle_launch,             ///< the host was dispatching, or the launch was on its way
  idle_kernel_gap,         ///< the next work was launched in time, yet had not begun
  idle_host_work,          ///< the host computed: an operator, a function, or long in none that was recorded
  idle_waiting_for_input,  ///< the launching thread was blocked until somebody sent something
  idle_blocking_call,      ///< a call lasted longer than the work that it waited for
  idle_profiler,           ///< estimated cost of recording itself
  idle_unknown,            ///< launches were not recorded
  count,
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::count);

[[nodiscard]] const char* part_id(Part part);
/// What works of this kind take where nothing covers them.
[[nodiscard]] Part part_of(Category category);
/// "compute", "communication", "copy" or "idle".
[[nodiscard]] const char* part_group(Part part);

/// A stretch in which the GPU did nothing.
struct IdlePiece {
  std::int64_t start = 0;
  std::int64_t end = 0;
  EventIndex host_event = kNoEvent;  ///< what the host did
  EventIndex next_work = kNoEvent;   ///< what the GPU did next
};

struct Breakdown {
  std::array<std::int64_t, kParts> ns{};               ///< sums to the length of the steps
  std::array<std::int64_t, kParts> pieces{};           ///< how many stretches
  std::array<std::vector<IdlePiece>, kParts> longest;  ///< of the idle parts, longest first, a few
  /// What the host did in idle_host_work, idle_waiting_for_input and idle_blocking_call, by its name (0: not recorded).
  std::map<std::pair<Part, NameId>, std::int64_t> host_names;
  std::vector<IdlePiece> loading;  ///< of idle_data_loading: the work that ends each is of another phase
  /// All idle stretches; only where stacks were recorded, which are joined with them.
  std::vector<std::pair<Part, IdlePiece>> all_pieces;
  /// Idle because the host was loading, dispatching or slowed by recording before work that exchanges nothing.
  /// Ascending.
  std::vector<Interval> late_host;
  /// Of idle_launch: the host dispatched one collective after another.
  std::int64_t between_collectives_ns = 0;
  [[nodiscard]] std::int64_t of(Part part) const { return ns[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::int64_t total() const;
};

struct BreakdownInput {
  const Timeline& timeline;
  const WorkList& list;
  const Steps& steps;
  const HostActivity& host;
  /// Per work: until when a collective waited for another rank; 0 for none. Empty without other ranks.
  const std::vector<std::int64_t>& wait_until;
  std::span<const Interval> missing = {};  ///< while work may have run that was not recorded; ascending
  bool correct_recording_cost = true;      ///< give idle_profiler its estimated share
  /// Busy times of the other GPUs of its process: a wait, or an event, that lasts while one of them works is for it.
  const Coverage* other_gpus = nullptr;
};

/// O(n log n).
[[nodiscard]] Breakdown break_down(const BreakdownInput& input);

/// Parts with time, in the order of Part.
[[nodiscard]] std::vector<BreakdownPart> breakdown_parts(const Breakdown& breakdown);

}  // namespace warpmark::analyze
