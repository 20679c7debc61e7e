// Method: one pass over the events in time order keeps a stack a host thread (as HTA's and Perfetto's importers do),
// which gives every host event its parent. Correlations are joined by sorting, not hashing: they are dense in practice.
#include "analyze/recorded/work_list.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/names/api_calls.h"
#include "analyze/names/kernel_names.h"
#include "analyze/names/ranges.h"

namespace warpmark::analyze {

namespace {

bool is_host_range(EventKind kind) {
  return is_api_call(kind) || kind == EventKind::op || kind == EventKind::annotation || kind == EventKind::python ||
         kind == EventKind::os_call;
}

std::vector<EventIndex> parents_of(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  std::vector<EventIndex> parent(events.size(), kNoEvent);
  std::vector<std::vector<EventIndex>> stacks(timeline.tracks.size());
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_host_range(events.kind[i])) continue;
    std::vector<EventIndex>& stack = stacks[events.track[i]];
    while (!stack.empty() && events.end(stack.back()) <= events.start[i]) stack.pop_back();
    if (!stack.empty()) parent[i] = stack.back();
    if (events.duration[i] > 0) stack.push_back(i);
  }
  return parent;
}

struct Key {
  std::uint32_t id = 0;
  EventIndex event = kNoEvent;
};

/// (id, event) sorted by id, then by event: the first of an id is the earliest.
template <typename Wanted>
std::vector<Key> sorted_keys(const EventColumns& events, const EventColumn<std::uint32_t>& ids, Wanted wanted) {
  std::vector<Key> keys;
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (ids[i] != 0 && wanted(events.kind[i])) keys.push_back({ids[i], i});
  }
  const auto order = [](const Key& a, const Key& b) { return a.id != b.id ? a.id < b.id : a.event < b.event; };
  if (!std::is_sorted(keys.begin(), keys.end(), order)) std::sort(keys.begin(), keys.end(), order);
  return keys;
}

EventIndex first_with(const std::vector<Key>& keys, std::uint32_t id) {
  if (id == 0) return kNoEvent;
  const auto found = std::partition_point(keys.begin(), keys.end(), [id](const Key& key) { return key.id < id; });
  return found != keys.end() && found->id == id ? found->event : kNoEvent;
}

Category copy_category(std::uint32_t detail) {
  switch (copy_kind(detail)) {
    case CopyKind::host_to_device: return Category::copy_to_device;
    case CopyKind::device_to_host: return Category::copy_to_host;
    default: return Category::copy_on_device;
  }
}

/// Names are few and events many: what a name tells is found out once.
class NameFacts {
 public:
  explicit NameFacts(const Timeline& timeline) : timeline_(timeline), facts_(timeline.names.size()) {}
  struct Fact {
    bool known = false;
    bool optimizer = false;
    Category category = Category::other;
    MatrixMath math = MatrixMath::none;
  };
  const Fact& of(NameId name) {
    Fact& fact = facts_[name];
    if (!fact.known) {
      const std::string_view text = timeline_.names.at(name);
      fact.known = true;
      fact.category = kernel_category(text, "");
      fact.math = matrix_math(text, fact.category);
      fact.optimizer = names_optimizer_step(text);
    }
    return fact;
  }

 private:
  const Timeline& timeline_;
  std::vector<Fact> facts_;
};

/// What stands around each host event, itself included. Found from parents to children, so that deep nesting costs no
/// more than flat events do.
struct Surroundings {
  std::vector<EventIndex> op;   ///< innermost operator; kNoEvent if none
  std::vector<bool> optimizer;  ///< within an optimizer's step
};

Surroundings surroundings_of(const Timeline& timeline, const std::vector<EventIndex>& parent, NameFacts& facts) {
  const EventColumns& events = timeline.events;
  Surroundings around{std::vector<EventIndex>(events.size(), kNoEvent), std::vector<bool>(events.size(), false)};
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    const bool is_range = kind == EventKind::annotation || kind == EventKind::op;
    const bool has_parent = parent[i] != kNoEvent;
    around.op[i] = kind == EventKind::op ? i : has_parent ? around.op[parent[i]] : kNoEvent;
    around.optimizer[i] =
        (has_parent && around.optimizer[parent[i]]) || (is_range && facts.of(events.name[i]).optimizer);
  }
  return around;
}

void classify(const Timeline& timeline, const Surroundings& around, NameFacts& facts, GpuWork& work) {
  const EventColumns& events = timeline.events;
  const EventKind kind = events.kind[work.event];
  if (kind == EventKind::memset) {
    work.category = Category::memset;
  } else if (kind == EventKind::memcpy) {
    work.category = copy_category(events.detail[work.event]);
  } else if (kind == EventKind::graph) {
    work.category = Category::graph;
  } else {
    const NameFacts::Fact& fact = facts.of(events.name[work.event]);
    work.category = fact.category;
    work.math = fact.math;
    if (fact.category == Category::other && work.op != kNoEvent) {
      work.category = kernel_category("", timeline.name_of(work.op));
      work.math = matrix_math(timeline.name_of(work.event), work.category);
    }
    if (fact.category == Category::convolution && work.op != kNoEvent &&
        (lays_out_windows(timeline.name_of(work.op)) || adds_up_windows(timeline.name_of(work.op))))
      work.category = Category::elementwise;
  }
  const EventIndex at = work.launch != kNoEvent ? work.launch : work.op;
  work.in_optimizer = at != kNoEvent && around.optimizer[at];
  if (work.in_optimizer && is_compute(work.category)) work.category = Category::optimizer;
}

std::uint32_t busiest_stream(const std::vector<GpuWork>& works) {
  std::map<std::uint32_t, std::int64_t> busy;
  for (const GpuWork& work : works) {
    if (is_compute(work.category)) busy[work.track] += work.end - work.start;
  }
  std::uint32_t best = works.empty() ? 0 : works.front().track;
  std::int64_t most = -1;
  for (const auto& [track, time] : busy) {
    if (time > most) most = time, best = track;
  }
  return best;
}

/// Of copies to the host that are launched together, before the one before has ended or by several threads of a
/// runtime, and with no computation between, none is there for its own value.
void mark_downloads(const Timeline& timeline, std::vector<GpuWork>& works) {
  const EventColumns& events = timeline.events;
  std::vector<std::pair<std::int64_t, std::size_t>> launched;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const GpuWork& work = works[i];
    const std::int64_t at = work.launch != kNoEvent ? events.start[work.launch] : work.start;
    if (work.category == Category::copy_to_host || is_compute(work.category)) launched.emplace_back(at, i);
  }
  std::sort(launched.begin(), launched.end());
  std::vector<std::size_t> together;
  std::int64_t bytes = 0;
  const auto close = [&] {
    for (const std::size_t i : together) works[i].downloads = bytes > kValueBytes;
    together.clear();
    bytes = 0;
  };
  for (const auto& [at, i] : launched) {
    const GpuWork& work = works[i];
    if (work.category != Category::copy_to_host) {
      close();
      continue;
    }
    if (!together.empty()) {
      const GpuWork& before = works[together.back()];
      const bool known = work.launch != kNoEvent && before.launch != kNoEvent;
      const bool after = !known || (at >= before.end && events.track[work.launch] == events.track[before.launch]);
      if (after && bytes <= kValueBytes) close();  // a value read behind what was moved goes with it
    }
    together.push_back(i);
    bytes += events.value[work.event];
  }
  close();
}

}  // namespace

bool uploads(const Timeline& timeline, const GpuWork& work) {
  const std::int64_t bytes = timeline.events.value[work.event];
  return work.category == Category::copy_to_device && (bytes <= 0 || bytes > kOneNumberBytes);
}

WorkList list_work(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  WorkList list;
  list.parent = parents_of(timeline);
  const auto api = sorted_keys(events, events.correlation, is_api_call);
  const auto ops = sorted_keys(events, events.link, [](EventKind kind) { return kind == EventKind::op; });
  NameFacts facts(timeline);
  const Surroundings around = surroundings_of(timeline, list.parent, facts);
  for (EventIndex i = 0; i < events.size(); ++i) {
    if (!is_gpu_work(events.kind[i])) continue;
    GpuWork work;
    work.event = i;
    work.start = events.start[i];
    work.end = events.end(i);
    work.track = events.track[i];
    work.launch = first_with(api, events.correlation[i]);
    if (work.launch != kNoEvent) work.op = around.op[work.launch];
    if (work.op == kNoEvent) work.op = first_with(ops, events.link[i]);
    classify(timeline, around, facts, work);
    list.with_launch += work.launch != kNoEvent;
    list.with_op += work.op != kNoEvent;
    list.works.push_back(work);
  }
  mark_downloads(timeline, list.works);
  list.main_stream = busiest_stream(list.works);
  return list;
}

std::vector<WorkList> split_by_gpu(const Timeline& timeline, WorkList list) {
  const EventColumns& events = timeline.events;
  using GraphOwner = std::pair<int, std::int64_t>;         // device, process
  using Processes = std::map<std::int64_t, std::int64_t>;  // with their time
  std::map<std::uint32_t, Processes> of_stream;
  std::map<int, Processes> of_device;  // pages of unified memory move on a stream that nothing is launched on
  for (const GpuWork& work : list.works) {
    if (work.launch == kNoEvent) continue;
    const std::int64_t process = timeline.tracks[events.track[work.launch]].process;
    of_stream[work.track][process] += work.end - work.start;
    of_device[timeline.tracks[work.track].device][process] += work.end - work.start;
  }
  const auto owner_of = [&](const GpuWork& work) -> GraphOwner {
    const int device = timeline.tracks[work.track].device;
    if (work.launch != kNoEvent) return {device, timeline.tracks[events.track[work.launch]].process};
    const Processes& known = of_stream[work.track].empty() ? of_device[device] : of_stream[work.track];
    const auto most = std::ranges::max_element(known, {}, [](const auto& one) { return one.second; });
    return {device, most == known.end() ? 0 : most->first};
  };
  std::map<GraphOwner, std::int64_t> time;
  std::int64_t all = 0;
  for (const GpuWork& work : list.works) {
    time[owner_of(work)] += work.end - work.start;
    all += work.end - work.start;
  }
  std::erase_if(time,
                [&](const auto& one) { return static_cast<double>(one.second) < kMatters * static_cast<double>(all); });
  std::vector<WorkList> lists;
  if (time.size() < 2) {
    lists.push_back(std::move(list));
    return lists;
  }
  std::set<int> devices;
  for (const auto& [owner, ns] : time) devices.insert(owner.first);
  for (const auto& [owner, ns] : time) {
    WorkList part;
    part.parent = list.parent;
    part.process = owner.second;
    part.number = devices.size() == time.size() ? owner.first : static_cast<int>(lists.size());
    for (const GpuWork& work : list.works) {
      if (owner_of(work) != owner) continue;
      part.works.push_back(work);
      part.with_launch += work.launch != kNoEvent;
      part.with_op += work.op != kNoEvent;
    }
    part.main_stream = busiest_stream(part.works);
    lists.push_back(std::move(part));
  }
  return lists;
}

std::int64_t work_between(const WorkList& list, std::int64_t from, std::int64_t to) {
  std::int64_t sum = 0;
  auto work = std::ranges::lower_bound(list.works, from, {}, &GpuWork::start);
  for (; work != list.works.end() && work->start < to; ++work) sum += work->end - work->start;
  return sum;
}

std::vector<std::size_t> works_of_main_stream(const WorkList& list) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (list.works[i].track == list.main_stream) order.push_back(i);
  }
  return order;
}

bool has_backward_pass(const Timeline& timeline, const WorkList& list) {
  if (std::ranges::any_of(list.works, &GpuWork::in_optimizer)) return true;
  return any_name(timeline.names, names_backward_pass);
}

}  // namespace warpmark::analyze
