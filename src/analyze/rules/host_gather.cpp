// A table too large to copy at once, or thought to be: embeddings, features of nodes, a replay buffer. The host reads
// its rows in random order at a few GB/s and copies the result over the bus at some 10 GB/s from pageable memory; a GPU
// that holds the table gathers them at hundreds of GB/s, from indices of a hundredth of the bytes.
#include "analyze/rules/host_gather.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLongGatherNs = 300'000;
constexpr std::int64_t kLeastUploadBytes = 64 << 10;  // rows, no indices

bool gathers_rows(std::string_view op) {
  return op == "aten::index" || op == "aten::index_select" || op == "aten::embedding" || op == "aten::gather" ||
         op == "aten::take";
}

struct ThreadLaunch {
  std::int64_t time;
  bool uploads;
};

/// By track, ascending.
std::vector<std::vector<ThreadLaunch>> launches_of_threads(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  std::vector<std::vector<ThreadLaunch>> launches(rank.timeline->tracks.size());
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent) continue;
    const bool uploads = work.category == Category::copy_to_device && events.value[work.event] >= kLeastUploadBytes;
    launches[events.track[work.launch]].push_back({events.start[work.launch], uploads});
  }
  for (auto& one : launches) std::ranges::sort(one, {}, &ThreadLaunch::time);
  return launches;
}

}  // namespace

HostGathers host_gathers(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const EventColumns& events = timeline.events;
  std::vector<bool> wanted(timeline.names.size());
  for (NameId i = 0; i < wanted.size(); ++i) wanted[i] = gathers_rows(timeline.names.at(i));
  const auto launches = launches_of_threads(rank);
  HostGathers sum;
  std::int64_t counted_until = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::op || !wanted[events.name[i]] || events.duration[i] < kLongGatherNs) continue;
    const bool nested = events.start[i] < counted_until;  // an embedding is an index_select
    if (nested || events.start[i] < rank.steps.start() || events.start[i] >= rank.steps.end()) continue;
    const auto& own = launches[events.track[i]];
    const auto next = std::ranges::lower_bound(own, events.start[i], {}, &ThreadLaunch::time);
    if (next == own.end() || next->time < events.end(i) || !next->uploads) continue;
    sum.count += 1;
    sum.ns += static_cast<double>(events.duration[i]);
    counted_until = events.end(i);
  }
  return {sum.count / rank.step_count(), sum.ns / rank.step_count()};
}

double gathered_share(const RankEvidence& rank) {
  const double loading = rank.replay.host_ns(HostCause::data_loading);
  return loading > 0 ? std::min(1.0, host_gathers(rank).ns / loading) : 0;
}

}  // namespace warpmark::analyze
