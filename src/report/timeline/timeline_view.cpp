#include "report/timeline/timeline_view.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "report/timeline/timeline_rows.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMostViewRows = 24;
constexpr std::size_t kMaxGaps = 10'000;  // a GPU
constexpr std::size_t kMaxFindings = 12;  // the worst; a longer legend helps nobody

/// The analysis names ranks by number; a timeline without one by its index.
std::size_t index_of_rank(const ProfileSession& session, int rank) {
  for (std::size_t i = 0; i < session.ranks.size(); ++i) {
    if (session.ranks[i].rank == rank) return i;
  }
  return rank >= 0 && static_cast<std::size_t>(rank) < session.ranks.size() ? static_cast<std::size_t>(rank) : 0;
}

const RankAnalysis* choose_rank(const ProfileSession& session, const Analysis& analysis,
                                const TimelineViewOptions& options, TimelineView& view) {
  const RankAnalysis* chosen = nullptr;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (options.rank && index_of_rank(session, rank.rank) != *options.rank) continue;
    if (chosen == nullptr || rank.median_step_ns > chosen->median_step_ns) chosen = &rank;
  }
  view.rank_index = options.rank.value_or(chosen == nullptr ? 0 : index_of_rank(session, chosen->rank));
  return chosen;
}

void choose_window(const Timeline& timeline, const RankAnalysis* rank, const TimelineViewOptions& options,
                   TimelineView& view) {
  StepSpan window;
  if (rank != nullptr && !rank->steps.empty()) {
    const auto off_median = [rank](const StepSpan& step) {
      return std::abs(step.end_ns - step.start_ns - rank->median_step_ns);
    };
    auto step = std::min_element(rank->steps.begin(), rank->steps.end(),
                                 [&](const auto& a, const auto& b) { return off_median(a) < off_median(b); });
    view.median = !options.step || *options.step >= rank->steps.size();
    if (!view.median) step = rank->steps.begin() + static_cast<std::ptrdiff_t>(*options.step);
    window = {step->start_ns, step->end_ns};
    view.steps = rank->steps.size();
    view.step = static_cast<std::size_t>(step - rank->steps.begin()) + 1;
  }
  if (window.end_ns <= window.start_ns) {
    view.step = view.steps = 0;
    const EventColumns& events = timeline.events;
    window = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!is_drawable(events.kind[i])) continue;
      const StepSpan span = span_of(events, i);
      window = {std::min(window.start_ns, span.start_ns), std::max(window.end_ns, span.end_ns)};
    }
  }
  if (window.end_ns <= window.start_ns) return;
  view.start_ns = window.start_ns;
  view.length_ns = window.end_ns - window.start_ns;
}

StepSpan window_of(const TimelineView& view) { return {view.start_ns, view.start_ns + view.length_ns}; }

/// Drawable events of each track that overlap the window, ascending by start.
std::map<std::uint32_t, std::vector<EventIndex>> events_in_window(const Timeline& timeline, TimelineView& view) {
  const EventColumns& events = timeline.events;
  const StepSpan window = window_of(view);
  std::map<std::uint32_t, std::vector<EventIndex>> by_track;
  for (std::size_t i = 0; i < events.size() && events.start[i] < window.end_ns; ++i) {
    const StepSpan span = span_of(events, i);
    if (span.start_ns < window.start_ns && span.end_ns <= window.start_ns) continue;
    if (is_drawable(events.kind[i])) {
      by_track[events.track[i]].push_back(static_cast<EventIndex>(i));
    } else {
      ++view.not_drawable;
    }
  }
  return by_track;
}

/// Streams by GPU and number; then threads that call the GPU, then others, the busiest first.
void order_rows(const Timeline& timeline, std::vector<ViewRow>& rows) {
  const auto key = [&](const ViewRow& row) {
    const Track& track = timeline.tracks[row.track];
    const bool calls = std::any_of(row.events.begin(), row.events.end(), [](const ViewEvent& event) {
      return event.paint == Paint::api || event.paint == Paint::wait;
    });
    const int place = row.gpu ? 0 : calls ? 1 : track.kind == TrackKind::cpu_thread ? 2 : 3;
    return std::tuple(place, row.gpu ? track.device : 0, row.gpu ? track.thread : -row.busy_ns, row.track);
  };
  std::vector<std::pair<decltype(key(rows.front())), ViewRow>> keyed;
  for (ViewRow& row : rows) keyed.emplace_back(key(row), std::move(row));
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  rows.clear();
  for (auto& [ignored, row] : keyed) rows.push_back(std::move(row));
}

GpuIdle idle_of(int device, std::vector<StepSpan> work, std::int64_t length) {
  GpuIdle idle{.device = device, .gaps = {}, .idle_ns = 0};
  std::sort(work.begin(), work.end(), [](const StepSpan& a, const StepSpan& b) { return a.start_ns < b.start_ns; });
  work.push_back({length, length});
  std::int64_t busy_until = 0;
  for (const StepSpan& span : work) {
    if (span.start_ns > busy_until) {
      idle.gaps.push_back({busy_until, span.start_ns});
      idle.idle_ns += span.start_ns - busy_until;
    }
    busy_until = std::max(busy_until, span.end_ns);
  }
  if (idle.gaps.size() > kMaxGaps) {
    const auto longer = [](const StepSpan& a, const StepSpan& b) {
      const std::int64_t a_length = a.end_ns - a.start_ns, b_length = b.end_ns - b.start_ns;
      return a_length != b_length ? a_length > b_length : a.start_ns < b.start_ns;
    };
    std::nth_element(idle.gaps.begin(), idle.gaps.begin() + kMaxGaps, idle.gaps.end(), longer);
    idle.gaps.resize(kMaxGaps);
    std::sort(idle.gaps.begin(), idle.gaps.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  }
  return idle;
}

/// Before the cap: what is left out is still work.
void find_idle(const Timeline& timeline, const std::map<std::uint32_t, std::vector<EventIndex>>& by_track,
               TimelineView& view) {
  std::map<int, std::vector<StepSpan>> work;
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {  // a GPU that works elsewhere only idles here
    const Track& track = timeline.tracks[timeline.events.track[i]];
    if (track.kind == TrackKind::gpu_stream && is_gpu_work(timeline.events.kind[i])) work.try_emplace(track.device);
  }
  for (const auto& [track, indices] : by_track) {
    if (timeline.tracks[track].kind != TrackKind::gpu_stream) continue;
    for (const EventIndex i : indices) {
      if (!is_gpu_work(timeline.events.kind[i])) continue;
      const StepSpan span = span_of(timeline.events, i);
      work[timeline.tracks[track].device].push_back({std::max<std::int64_t>(0, span.start_ns - view.start_ns),
                                                     std::min(view.length_ns, span.end_ns - view.start_ns)});
    }
  }
  for (auto& [device, spans] : work) view.idle.push_back(idle_of(device, std::move(spans), view.length_ns));
}

std::vector<EventIndex> events_of_findings(const Analysis& analysis, std::size_t rank_index) {
  std::vector<EventIndex> events;
  for (std::size_t f = 0; f < std::min(kMaxFindings, analysis.findings.size()); ++f) {
    for (const EventReference& reference : analysis.findings[f].events) {
      if (reference.rank == static_cast<int>(rank_index)) events.push_back(reference.event);
    }
  }
  std::sort(events.begin(), events.end());
  return events;
}

using Places = std::unordered_map<EventIndex, ViewPlace>;

void place_findings(const Analysis& analysis, const Places& places, TimelineView& view) {
  for (std::size_t f = 0; f < std::min(kMaxFindings, analysis.findings.size()); ++f) {
    ViewFinding shown{.finding = f, .events = {}, .elsewhere = 0};
    for (const EventReference& reference : analysis.findings[f].events) {
      const auto found = places.find(reference.event);
      if (reference.rank == static_cast<int>(view.rank_index) && found != places.end()) {
        shown.events.push_back(found->second);
      } else {
        ++shown.elsewhere;
      }
    }
    std::sort(shown.events.begin(), shown.events.end());
    shown.events.erase(std::unique(shown.events.begin(), shown.events.end()), shown.events.end());
    view.findings.push_back(std::move(shown));
  }
}

/// Joins calls and work by their correlation; where several calls share one, the innermost (last) is the launch.
void place_launches(const Timeline& timeline, TimelineView& view) {
  std::unordered_map<std::uint32_t, ViewPlace> call_of;
  const auto each = [&](bool gpu, auto visit) {
    for (std::size_t r = 0; r < view.rows.size(); ++r) {
      if (view.rows[r].gpu != gpu) continue;
      for (std::size_t i = 0; i < view.rows[r].events.size(); ++i) {
        const EventIndex event = view.rows[r].events[i].event;
        const std::uint32_t correlation = timeline.events.correlation[event];
        if (correlation != 0) visit(timeline.events.kind[event], correlation, ViewPlace{r, i});
      }
    }
  };
  each(false, [&](EventKind kind, std::uint32_t correlation, ViewPlace place) {
    if (kind == EventKind::runtime_api || kind == EventKind::driver_api) call_of[correlation] = place;
  });
  each(true, [&](EventKind kind, std::uint32_t correlation, ViewPlace place) {
    const auto call = call_of.find(correlation);
    if (is_gpu_work(kind) && call != call_of.end()) view.launches.emplace_back(call->second, place);
  });
}

}  // namespace

TimelineView timeline_view(const ProfileSession& session, const Analysis& analysis,
                           const TimelineViewOptions& options) {
  TimelineView view;
  const RankAnalysis* rank = choose_rank(session, analysis, options, view);
  if (view.rank_index >= session.ranks.size()) return view;
  const Timeline& timeline = session.ranks[view.rank_index];
  choose_window(timeline, rank, options, view);
  if (view.length_ns == 0) return view;

  const auto by_track = events_in_window(timeline, view);
  for (const auto& [track, events] : by_track) {
    view.rows.push_back(make_row(timeline, track, events, window_of(view)));
  }
  order_rows(timeline, view.rows);
  while (view.rows.size() > kMostViewRows) {
    view.left_out += view.rows.back().events.size() + view.rows.back().left_out;
    ++view.rows_left_out;
    view.rows.pop_back();
  }
  find_idle(timeline, by_track, view);
  limit_events(view.rows, options.max_events, events_of_findings(analysis, view.rank_index));

  Places places;
  for (std::size_t r = 0; r < view.rows.size(); ++r) {
    ViewRow& row = view.rows[r];
    close_lanes(row);
    view.drawn += row.events.size();
    view.left_out += row.left_out;
    for (std::size_t i = 0; i < row.events.size(); ++i) places.emplace(row.events[i].event, ViewPlace{r, i});
  }
  place_findings(analysis, places, view);
  place_launches(timeline, view);
  return view;
}

}  // namespace warpmark::report
