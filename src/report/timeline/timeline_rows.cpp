#include "report/timeline/timeline_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "analyze/names/kernel_category.h"

namespace warpmark::report {
namespace {

using analyze::Category;

// Events of one group nest in one another; groups of a row stand below one another.
enum class RowGroup : std::uint8_t { outer, work, inner, count };
constexpr std::size_t kGroupCount = static_cast<std::size_t>(RowGroup::count);
constexpr std::uint16_t kGroupStride = 100;  // lane numbers before close_lanes: group * stride + depth
/// Depths a row shows: on a stream its ranges, work and waits; on a thread its calls, then Python's.
constexpr std::array<std::uint16_t, kGroupCount> kStreamDepth{3, 4, 1};
constexpr std::array<std::uint16_t, kGroupCount> kThreadDepth{0, 12, 10};

RowGroup group_of(EventKind kind, bool gpu) {
  if (!gpu) return kind == EventKind::python ? RowGroup::inner : RowGroup::work;
  if (kind == EventKind::gpu_annotation || kind == EventKind::annotation) return RowGroup::outer;
  return is_gpu_work(kind) ? RowGroup::work : RowGroup::inner;
}

Paint kernel_paint(std::string_view name) {
  switch (analyze::kernel_category(name, "")) {
    case Category::gemm:
    case Category::convolution:
    case Category::attention: return Paint::matrix_kernel;
    case Category::communication: return Paint::communication;
    default: return Paint::kernel;
  }
}

Paint paint_of(EventKind kind, std::string_view name) {
  switch (kind) {
    case EventKind::kernel: return kernel_paint(name);
    case EventKind::memcpy: return Paint::copy;
    case EventKind::memset: return Paint::memset;
    case EventKind::graph: return Paint::graph;
    case EventKind::gpu_annotation:
    case EventKind::annotation: return Paint::range;
    case EventKind::op: return Paint::op;
    case EventKind::runtime_api:
    case EventKind::driver_api: return name.find("Synchronize") != std::string_view::npos ? Paint::wait : Paint::api;
    case EventKind::sync_record: return Paint::wait;
    case EventKind::os_call: return Paint::os_call;
    case EventKind::python: return Paint::python;
    case EventKind::overhead: return Paint::profiler;
    default: return Paint::other;
  }
}

std::string row_name(const Timeline& timeline, const Track& track) {
  switch (track.kind) {
    case TrackKind::gpu_stream:
      if (track.thread < 0) {  // waits for a whole device are of no stream
        return track.device < 0 ? "all streams" : fmt::format("GPU {} all streams", track.device);
      }
      return track.device < 0 ? fmt::format("stream {}", track.thread)
                              : fmt::format("GPU {} stream {}", track.device, track.thread);
    case TrackKind::cpu_thread: {
      const bool many = std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& other) {
        return other.kind == TrackKind::cpu_thread && other.process != track.process;
      });
      const std::string number = fmt::format("{}", track.thread);
      std::string name = many ? fmt::format("process {} ", track.process) : std::string();
      if (track.name.find(number) != std::string::npos) return name + track.name;  // "thread 423 (python3)"
      return name + "thread " + number + (track.name.empty() ? "" : " " + track.name);
    }
    case TrackKind::other: break;
  }
  return track.name.empty() ? fmt::format("track {}", track.thread) : track.name;
}

/// How many events of rows that hold `sizes` each may keep so that the sum is at most `most`: the fair share.
std::size_t fair_share(std::vector<std::size_t> sizes, std::size_t most) {
  std::sort(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t share = most / (sizes.size() - i);
    if (sizes[i] > share) return share;
    most -= sizes[i];
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

bool is_drawable(EventKind kind) {
  return kind != EventKind::allocation && kind != EventKind::mark && kind != EventKind::cpu_sample;
}

StepSpan span_of(const EventColumns& events, std::size_t i) {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  const std::int64_t start = std::clamp(events.start[i], -kFar, kFar);
  return {start, start + std::clamp(events.duration[i], std::int64_t{0}, kFar)};
}

ViewRow make_row(const Timeline& timeline, std::uint32_t track, std::span<const EventIndex> events, StepSpan window) {
  const EventColumns& columns = timeline.events;
  ViewRow row;
  row.track = track;
  row.name = row_name(timeline, timeline.tracks[track]);
  row.gpu = timeline.tracks[track].kind == TrackKind::gpu_stream;
  const auto& depths = row.gpu ? kStreamDepth : kThreadDepth;
  std::array<std::vector<std::int64_t>, kGroupCount> open;  // ends of the events around the next one
  row.events.reserve(events.size());
  for (const EventIndex i : events) {
    const StepSpan span = span_of(columns, i);
    ViewEvent event{
        .event = i, .start_ns = span.start_ns - window.start_ns, .duration_ns = span.end_ns - span.start_ns};
    const auto group = static_cast<std::size_t>(group_of(columns.kind[i], row.gpu));
    auto& around = open[group];
    while (!around.empty() && around.back() <= span.start_ns) around.pop_back();
    const std::size_t depth = around.size();
    around.push_back(span.end_ns);
    if (depth == 0) row.busy_ns += std::min(span.end_ns, window.end_ns) - std::max(span.start_ns, window.start_ns);
    if (depth >= depths[group]) {
      ++row.left_out;
      continue;
    }
    event.lane = static_cast<std::uint16_t>(group * kGroupStride + depth);
    event.paint = paint_of(columns.kind[i], timeline.name_of(i));
    row.events.push_back(event);
  }
  return row;
}

void limit_events(std::vector<ViewRow>& rows, std::size_t max_events, std::span<const EventIndex> pinned) {
  std::vector<std::size_t> sizes;
  for (const ViewRow& row : rows) sizes.push_back(row.events.size());
  const std::size_t share = fair_share(std::move(sizes), max_events);
  const auto before = [&](const ViewEvent& a, const ViewEvent& b) {
    const bool a_pinned = std::binary_search(pinned.begin(), pinned.end(), a.event);
    const bool b_pinned = std::binary_search(pinned.begin(), pinned.end(), b.event);
    if (a_pinned != b_pinned) return a_pinned;
    return a.duration_ns != b.duration_ns ? a.duration_ns > b.duration_ns : a.event < b.event;
  };
  for (ViewRow& row : rows) {
    if (row.events.size() <= share) continue;
    row.left_out += row.events.size() - share;
    std::nth_element(row.events.begin(), row.events.begin() + static_cast<std::ptrdiff_t>(share), row.events.end(),
                     before);
    row.events.resize(share);
    std::sort(row.events.begin(), row.events.end(),
              [](const ViewEvent& a, const ViewEvent& b) { return a.event < b.event; });
  }
}

void close_lanes(ViewRow& row) {
  std::array<std::uint16_t, kGroupCount> lanes{};
  for (const ViewEvent& event : row.events) {
    auto& most = lanes[event.lane / kGroupStride];
    most = std::max(most, static_cast<std::uint16_t>(event.lane % kGroupStride + 1));
  }
  std::array<std::uint16_t, kGroupCount> first{};
  for (std::size_t group = 1; group < kGroupCount; ++group) {
    first[group] = static_cast<std::uint16_t>(first[group - 1] + lanes[group - 1]);
  }
  for (ViewEvent& event : row.events) {
    event.lane = static_cast<std::uint16_t>(first[event.lane / kGroupStride] + event.lane % kGroupStride);
  }
  row.lanes = static_cast<std::uint16_t>(first.back() + lanes.back());
}

}  // namespace warpmark::report
