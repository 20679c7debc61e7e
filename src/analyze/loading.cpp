#include "analyze/loading.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace warpmark::analyze {

namespace {

/// What a range's name tells of who loads: nothing, somebody, or one of PyTorch's two kinds.
enum class Loader : std::uint8_t { none, some, single, multi };

Loader loader_of(std::string_view name) {
  if (!names_data_loading(name)) return Loader::none;
  if (contains_any(name, {"_singleprocessdataloaderiter"})) return Loader::single;
  return contains_any(name, {"_multiprocessingdataloaderiter"}) ? Loader::multi : Loader::some;
}

}  // namespace

double Loading::mean_ns() const {
  double sum = 0;
  for (const double one : waits_ns) sum += one;
  return waits_ns.empty() ? 0 : sum / static_cast<double>(waits_ns.size());
}

double Loading::median_ns() const {
  if (waits_ns.empty()) return 0;
  std::vector<double> sorted = waits_ns;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

Loading find_loading(const Timeline& timeline, const WorkList& list) {
  Loading loading;
  const EventColumns& events = timeline.events;
  std::vector<Loader> loaders;
  for (NameId i = 0; i < timeline.names.size(); ++i) loaders.push_back(loader_of(timeline.names.at(i)));
  double in_single = 0, in_multi = 0;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (kind != EventKind::annotation && kind != EventKind::op) continue;
    const Loader loader = loaders[events.name[i]];
    const EventIndex parent = list.parent[i];
    const bool within = parent != kNoEvent && loaders[events.name[parent]] != Loader::none;
    if (within && kind == EventKind::op && loader == Loader::none) loading.in_process = true;
    if (within || loader == Loader::none) continue;
    const auto length = static_cast<double>(events.duration[i]);
    loading.waits_ns.push_back(length);
    if (loader == Loader::single) in_single += length;
    if (loader == Loader::multi) in_multi += length;
  }
  // A loader for validation may work otherwise: the one that is waited for longer tells.
  loading.in_process = loading.in_process || in_single > in_multi;
  loading.multiprocess = in_multi > in_single;
  return loading;
}

}  // namespace warpmark::analyze
