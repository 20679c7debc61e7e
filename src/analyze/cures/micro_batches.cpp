#include "analyze/cures/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "analyze/names/collective_kinds.h"
#include "analyze/names/operators.h"
#include "analyze/names/ranges.h"
#include "analyze/recorded/collectives.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLeastElements = 4096;  // less is a loss or a metric

/// When the host began forward passes, in the whole recording, ascending.
std::vector<std::int64_t> forward_passes(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  std::vector<std::int64_t> begun;
  for (const char* marker : {kDdpForward, "FSDP::root_pre_forward"}) {
    const auto name = rank.timeline->names.find(marker);
    if (!name) continue;
    for (EventIndex i = 0; i < events.size(); ++i) {
      const bool range = events.kind[i] == EventKind::annotation || events.kind[i] == EventKind::op;
      if (range && events.name[i] == *name) begun.push_back(events.start[i]);
    }
  }
  std::ranges::sort(begun);
  return begun;
}

bool reduces(std::string_view collective) {
  const std::string standard = standard_collective(collective);
  return standard == "all_reduce" || standard == "reduce_scatter";
}

using Sizes = std::vector<std::int64_t>;  // elements of each reduction, in the order of launches

/// What the host launched between the beginning of a forward pass and the next.
struct Pass {
  Sizes reduced;
  bool updates = false;  ///< the optimizer ran
  [[nodiscard]] std::int64_t elements() const {
    return std::accumulate(reduced.begin(), reduced.end(), std::int64_t{0});
  }
};

std::vector<Pass> passes_of(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const std::vector<std::int64_t> begun = forward_passes(rank);
  if (begun.size() < 2) return {};  // most programs
  const CollectiveByEvent by_event = collectives_by_event(timeline);
  std::vector<Pass> passes(begun.size());
  for (const GpuWork& work : rank.list.works) {
    if (work.launch == kNoEvent) continue;
    const auto next = std::ranges::upper_bound(begun, timeline.events.start[work.launch]);
    if (next == begun.begin()) continue;
    Pass& pass = passes[static_cast<std::size_t>(next - begun.begin()) - 1];
    pass.updates = pass.updates || work.in_optimizer || work.category == Category::optimizer;
    if (work.category != Category::communication) continue;
    const Collective* one = collective_of(work, rank.list, by_event);
    if (one == nullptr || one->in_elements < kLeastElements || !reduces(timeline.names.at(one->name))) continue;
    pass.reduced.push_back(one->in_elements);
  }
  return passes;
}

bool brings_gradients(const RankEvidence& rank, const GpuWork& work) {
  return any_around(rank.list, work.op,
                    [&rank](EventIndex at) { return copies_gradients(rank.timeline->name_of(at)); });
}

}  // namespace

int reductions_an_update(const RankEvidence& rank) {
  constexpr double kMuchMore = 1.5;
  std::map<Sizes, int> times;  // the same sizes in the same order are the same gradients
  int updates = 0;
  std::int64_t most_elements = 0;
  for (Pass& pass : passes_of(rank)) {
    updates += pass.updates;
    most_elements = std::max(most_elements, pass.elements());
    if (!pass.reduced.empty()) ++times[std::move(pass.reduced)];
  }
  const auto most = std::ranges::max_element(times, {}, &std::pair<const Sizes, int>::second);
  if (most == times.end() || updates == 0) return 1;
  // Where another pass reduces more, that has the gradients, and all passes have something else to sum up.
  const std::int64_t elements = std::accumulate(most->first.begin(), most->first.end(), std::int64_t{0});
  if (static_cast<double>(most_elements) > kMuchMore * static_cast<double>(elements)) return 1;
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(most->second) / updates)));
}

void reduce_once(const Evidence& evidence, int times, double success, Change& change) {
  const auto left = static_cast<float>(scaled(1.0 / times, success));
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      float& scale = change.ranks[r].duration_scale[i];
      if (brings_gradients(rank, rank.list.works[i])) scale = std::min(scale, left);
    }
  }
}

}  // namespace warpmark::analyze
