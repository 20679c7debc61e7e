#include "analyze/host/segment_names.h"

#include <algorithm>

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLongLoadingNs = 300'000;
constexpr std::int64_t kLongPreparingNs = 1'000'000;
// Calling an operator from Python takes some us around what is recorded of it, an index into a list 0.1 us: a longer
// stretch between operators is the program's own.
constexpr std::int64_t kShortGlueNs = 20'000;

template <typename Predicate>
void name_loading(std::span<HostSegment> segments, std::int64_t least_ns, Predicate may_load) {
  std::int64_t sum = 0;
  for (const HostSegment& one : segments) {
    if (may_load(one.cause)) sum += std::max<std::int64_t>(0, one.end - one.start - one.recording_ns);
  }
  if (sum < least_ns) return;
  for (HostSegment& one : segments) {
    if (may_load(one.cause)) one.cause = HostCause::data_loading;
  }
}

void name_round_trip(std::span<HostSegment> segments) {
  for (HostSegment& one : segments) {
    if (is_dispatching_anything(one.cause)) one.cause = HostCause::transfer;
  }
}

template <typename Predicate>
void name_long_work(std::span<HostSegment> segments, Predicate may_transfer) {
  for (HostSegment& one : segments) {
    if (may_transfer(one.cause) && one.end - one.start - one.recording_ns >= kLongLoadingNs)
      one.cause = HostCause::transfer;
  }
}

void name_picking(std::span<HostSegment> segments) {
  for (HostSegment& one : segments) {
    const bool glue = is_unrecorded(one.cause);
    if (one.cause == HostCause::dispatch || (glue && one.end - one.start < kShortGlueNs))
      one.cause = HostCause::reading;
  }
}

}  // namespace

void name_by_works(const BetweenWorks& between, std::vector<HostSegment>& segments, std::span<HostSegment> working) {
  if (between.makes_room || between.to_download) name_long_work(segments, is_unrecorded);
  if (between.after_download) {
    between.to_upload ? name_round_trip(segments) : name_long_work(segments, is_dispatching);
  } else if (between.to_upload) {
    name_loading(working, std::max(kLongLoadingNs, between.step_ns / 40), is_dispatching);
  } else {
    if (between.between_values) name_picking(segments);
    if (between.leads_to_upload) name_loading(working, std::max(kLongPreparingNs, between.step_ns / 10), is_unrecorded);
  }
}

}  // namespace warpmark::analyze
