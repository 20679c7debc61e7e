#include "analyze/host/over_host.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/collectives.h"

namespace warpmark::analyze {

namespace {

constexpr double kFew = 4;                     // host collectives a step: values, not gradients, ...
constexpr double kMuchCopied = 1U << 22;       // ... unless so many bytes a step are copied for them
constexpr double kMuchTime = 0.05;             // of the steps
constexpr std::int64_t kLeastObject = 65'536;  // bytes; less is no data
constexpr std::int64_t kMostSizes = 64;        // elements of the message that tells how large the objects are
constexpr double kHeader = 0.02;               // of an object, beside the data in it

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

/// Sizes of the objects that are sent in the steps. PyTorch packs one into a tensor of bytes, and sends its size first.
std::set<std::int64_t> objects_in_steps(const Timeline& timeline, const WorkList& list, const Steps& steps) {
  std::set<std::int64_t> sizes;
  if (timeline.collectives.empty()) return sizes;
  const CollectiveByEvent by_event = collectives_by_event(timeline);
  bool tells_sizes = false;
  for (const GpuWork& work : list.works) {
    if (work.category != Category::communication || !steps.hold(work)) continue;
    const Collective* one = collective_of(work, list, by_event);
    if (one == nullptr) continue;
    const std::string_view type = timeline.names.at(one->data_type);
    if (type == "Byte" && tells_sizes && one->in_elements >= kLeastObject) sizes.insert(one->in_elements);
    tells_sizes = type == "Long" && one->in_elements <= kMostSizes;
  }
  return sizes;
}

bool sends_objects(const Timeline& timeline, const WorkList& list, const Steps& steps) {
  const std::set<std::int64_t> sizes = objects_in_steps(timeline, list, steps);
  if (sizes.empty()) return false;
  const auto is_object = [&sizes](std::int64_t bytes) {
    const auto found = sizes.lower_bound(bytes);
    return found != sizes.end() && static_cast<double>(bytes) >= (1 - kHeader) * static_cast<double>(*found);
  };
  double objects = 0, all = 0;
  for (const GpuWork& work : list.works) {
    if (!is_host_copy(work.category) || !steps.hold(work)) continue;
    const std::int64_t bytes = timeline.events.value[work.event];
    all += static_cast<double>(bytes);
    if (is_object(bytes)) objects += static_cast<double>(bytes);
  }
  return objects > all / 2;
}

}  // namespace

double host_collectives(const Timeline& timeline, const Steps& steps) {
  return host_collectives_in_steps(timeline, steps).count / steps.count();
}

OverHost over_host_of(const Timeline& timeline, const WorkList& list, const Steps& steps) {
  const HostCollectives on_host = host_collectives_in_steps(timeline, steps);
  if (on_host.count == 0) return sends_objects(timeline, list, steps) ? OverHost::objects : OverHost::nothing;
  double kernels = 0, bytes = 0;
  for (const GpuWork& work : list.works) {
    if (!steps.hold(work)) continue;
    kernels += work.category == Category::communication;
    if (work.downloads) bytes += static_cast<double>(timeline.events.value[work.event]);
  }
  const bool much = on_host.count > kFew * steps.count() || bytes > kMuchCopied * steps.count();
  if (much && on_host.count > kernels) return OverHost::gradients;
  const auto steps_ns = static_cast<double>(steps.length());
  return on_host.time_ns > kMuchTime * steps_ns ? OverHost::values : OverHost::nothing;
}

}  // namespace warpmark::analyze
