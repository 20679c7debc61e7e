#include "analyze/host/segment_names.h"

#include <algorithm>
#include <string_view>

#include "analyze/names/ranges.h"

namespace warpmark::analyze {

namespace {

// One thread that touches fresh memory and one that copies each reach some 4 GB/s: one after the other 2 GB/s.
constexpr std::int64_t kRoomBytesPerNs = 2;

/// A function, a call of the system or a part of the step that the program marked is known by its name; that a thread
/// was blocked is not.
bool has_own_name(const Timeline& timeline, const HostSegment& one) {
  const bool works = one.cause == HostCause::work || one.cause == HostCause::input;
  if (!works || one.event == kNoEvent) return false;
  const EventKind kind = timeline.events.kind[one.event];
  return kind == EventKind::os_call ? one.cause == HostCause::work : kind != EventKind::op;
}

void name_loading(const Timeline& timeline, std::span<HostSegment> segments, std::int64_t least_ns) {
  const auto loads = [&](const HostSegment& one) { return may_prepare(one.cause) && !has_own_name(timeline, one); };
  std::int64_t sum = 0;
  for (const HostSegment& one : segments) {
    if (loads(one)) sum += std::max<std::int64_t>(0, one.end - one.start - one.recording_ns);
  }
  if (sum < least_ns) return;
  for (HostSegment& one : segments) {
    if (loads(one)) one.cause = HostCause::data_loading;
  }
}

void name_picking(std::span<HostSegment> segments) {
  for (HostSegment& one : segments) {
    const bool glue = is_unrecorded(one.cause);
    if (one.cause == HostCause::dispatch || (glue && one.end - one.start < kDispatchNs)) one.cause = HostCause::reading;
  }
}

/// Within a part of the step that the program marked: that names it, though not what it did.
bool is_of_range(const Timeline& timeline, EventIndex event) {
  if (event == kNoEvent || timeline.events.kind[event] != EventKind::annotation) return false;
  const std::string_view name = timeline.name_of(event);
  return !names_profiled_step(name) && !names_step(name);
}

}  // namespace

bool is_part_of_launching(const Timeline& timeline, const HostSegment& segment) {
  if (segment.event == kNoEvent) return true;
  const EventKind kind = timeline.events.kind[segment.event];
  if (kind == EventKind::annotation && !is_of_range(timeline, segment.event)) return true;
  return (kind == EventKind::annotation || kind == EventKind::op) && timeline.events.end(segment.event) > segment.end;
}

void name_by_works(const BetweenWorks& between, std::span<HostSegment> segments, std::span<HostSegment> working) {
  if (between.to_upload) {
    name_loading(between.timeline, working,
                 std::max(kLongGlueNs, static_cast<std::int64_t>(kMatters * static_cast<double>(between.step_ns))));
  } else if (between.between_values) {
    name_picking(segments);
  }
  const auto is_glue = [&between](const HostSegment& one) {
    return is_unrecorded(one.cause) ||
           (one.cause == HostCause::dispatch && !is_part_of_launching(between.timeline, one));
  };
  std::int64_t glue = 0;
  for (const HostSegment& one : working) {
    if (is_glue(one)) glue += std::max<std::int64_t>(0, one.end - one.start - one.recording_ns);
  }
  if (glue <= kLongGlueNs) return;
  const bool makes_room = glue <= between.downloaded / kRoomBytesPerNs;
  for (HostSegment& one : working) {
    if (!is_glue(one)) continue;
    if (is_unrecorded(one.cause) && !is_of_range(between.timeline, one.event)) one.event = kNoEvent;
    one.cause = makes_room ? HostCause::transfer : HostCause::work;
  }
}

}  // namespace warpmark::analyze
