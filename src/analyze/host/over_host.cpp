#include "analyze/host/over_host.h"

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

struct HostCollectives {
  double count = 0;
  double time_ns = 0;
};

HostCollectives host_collectives_in_steps(const Timeline& timeline, const Steps& steps) {
  const NameSet on_host(timeline.names, is_host_collective);
  HostCollectives sum;
  if (!on_host.any()) return sum;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const std::int64_t start = timeline.events.start[i];
    const bool on_thread = timeline.tracks[timeline.events.track[i]].kind == TrackKind::cpu_thread;
    if (!on_host.contains(timeline.events.name[i]) || !on_thread) continue;
    if (start < steps.start() || start >= steps.end()) continue;
    sum.count += 1;
    sum.time_ns += static_cast<double>(timeline.events.duration[i]);
  }
  return sum;
}

}  // namespace

double host_collectives(const Timeline& timeline, const Steps& steps) {
  return host_collectives_in_steps(timeline, steps).count / steps.count();
}

OverHost over_host_of(const Timeline& timeline, const WorkList& list, const Steps& steps) {
  const HostCollectives on_host = host_collectives_in_steps(timeline, steps);
  if (on_host.count == 0) return OverHost::nothing;
  double kernels = 0, downloads = 0;
  for (const GpuWork& work : list.works) {
    if (!steps.hold(work)) continue;
    kernels += work.category == Category::communication;
    downloads += work.downloads;
  }
  // Values are read without being moved.
  if (on_host.count > kernels && downloads >= steps.count()) return OverHost::gradients;
  const auto steps_ns = static_cast<double>(steps.length());
  return on_host.time_ns > kMatters * steps_ns ? OverHost::values : OverHost::nothing;
}

}  // namespace warpmark::analyze
