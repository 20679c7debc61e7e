// What a drawing of one step shows: the window, its rows (GPU streams, CPU threads) with the events in lanes of nesting
// depth, when each GPU was idle, and which events show a finding. Plain data, before it has a format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/analysis.h"
#include "model/profile/profile_session.h"

namespace warpmark::report {

/// What an event is drawn as; finer than EventKind where a reader of the timeline looks for it.
enum class Paint : std::uint8_t {
  matrix_kernel,  ///< matrix products, convolutions, attention
  kernel,
  communication,
  copy,
  memset,
  graph,
  range,  ///< annotations, on either side
  op,
  api,
  wait,  ///< a call or record that waits for the GPU
  os_call,
  python,
  profiler,
  other,
  count,
};

struct ViewEvent {
  EventIndex event = kNoEvent;
  std::int64_t start_ns = 0;     ///< since the window's start; negative if it began earlier
  std::int64_t duration_ns = 0;  ///< whole, also beyond the window
  std::uint16_t lane = 0;
  Paint paint = Paint::other;
};

struct ViewRow {
  std::uint32_t track = 0;  ///< index into Timeline::tracks
  std::string name;
  bool gpu = false;
  std::uint16_t lanes = 0;
  std::int64_t busy_ns = 0;       ///< in the window, of the outermost events
  std::vector<ViewEvent> events;  ///< ascending by start
  std::size_t left_out = 0;       ///< for the cap, or for being nested too deep
};

/// When none of a GPU's streams worked. Spans since the window's start.
struct GpuIdle {
  int device = -1;
  std::vector<StepSpan> gaps;  ///< ascending; only the longest if there are very many
  std::int64_t idle_ns = 0;    ///< of all gaps
};

/// Place of an event: row and index in its events.
using ViewPlace = std::pair<std::size_t, std::size_t>;

struct ViewFinding {
  std::size_t finding = 0;        ///< index into Analysis::findings
  std::vector<ViewPlace> events;  ///< those of its events that are drawn
  std::size_t elsewhere = 0;      ///< events in other steps, on other ranks or left out
};

struct TimelineView {
  std::size_t rank_index = 0;  ///< into ProfileSession::ranks
  std::int64_t start_ns = 0;   ///< of the window, since the timeline's origin
  std::int64_t length_ns = 0;  ///< 0: there is nothing to draw
  std::size_t step = 0;        ///< which of `steps`, from 1; 0 if the window is the whole recording
  std::size_t steps = 0;
  bool median = false;  ///< the step was chosen for its length
  std::vector<ViewRow> rows;
  std::vector<GpuIdle> idle;
  std::vector<ViewFinding> findings;
  std::vector<std::pair<ViewPlace, ViewPlace>> launches;  ///< API call and the GPU work it started, both drawn
  std::size_t drawn = 0;
  std::size_t left_out = 0;  ///< events for the cap or the depth
  std::size_t rows_left_out = 0;
  std::size_t not_drawable = 0;  ///< instants and samples, which have no length to draw
};

struct TimelineViewOptions {
  std::optional<std::size_t> rank;  ///< index into ProfileSession::ranks; else the rank with the longest median step
  std::optional<std::size_t> step;  ///< index into the analyzed steps of that rank; else the one nearest to the median
  std::size_t max_events = 20'000;  ///< over all rows; each row keeps its longest
};

/// Without steps the window is the whole recording. O(n) in the events before the window's end.
[[nodiscard]] TimelineView timeline_view(const ProfileSession& session, const Analysis& analysis,
                                         const TimelineViewOptions& options);

}  // namespace warpmark::report
