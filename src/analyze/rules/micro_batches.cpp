#include "analyze/rules/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analyze/collective_traffic.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kLeastElements = 4096;  // less is a loss or a metric

/// When the host began forward passes within the steps, ascending.
std::vector<std::int64_t> forward_passes(const RankEvidence& rank) {
  const EventColumns& events = rank.timeline->events;
  std::vector<std::int64_t> begun;
  for (const char* marker : {"DistributedDataParallel.forward", "FSDP::root_pre_forward"}) {
    const auto name = rank.timeline->names.find(marker);
    if (!name) continue;
    for (EventIndex i = 0; i < events.size(); ++i) {
      const bool range = events.kind[i] == EventKind::annotation || events.kind[i] == EventKind::op;
      const bool inside = events.start[i] >= rank.steps.start() && events.start[i] < rank.steps.end();
      if (range && inside && events.name[i] == *name) begun.push_back(events.start[i]);
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

/// What was reduced between the beginning of each forward pass and the next.
std::vector<Sizes> reductions_after(const std::vector<std::int64_t>& passes, const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const CollectiveByEvent by_event = collectives_by_event(timeline);
  std::vector<Sizes> after(passes.size());
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || work.launch == kNoEvent) continue;
    const Collective* one = collective_of(work, rank.list, by_event);
    if (one == nullptr || one->in_elements < kLeastElements || !reduces(timeline.names.at(one->name))) continue;
    const auto next = std::ranges::upper_bound(passes, timeline.events.start[work.launch]);
    if (next != passes.begin()) after[static_cast<std::size_t>(next - passes.begin()) - 1].push_back(one->in_elements);
  }
  return after;
}

/// Whether PyTorch's reducer launched it: between the gradients and the buckets that are sent.
bool copies_gradients(const RankEvidence& rank, const GpuWork& work) {
  for (EventIndex at = work.op; at != kNoEvent; at = rank.list.parent[at]) {
    const std::string_view name = rank.timeline->name_of(at);
    if (name.starts_with("torch::distributed::reducer::") || name.starts_with("torch.distributed.ddp.reducer::"))
      return true;
  }
  return false;
}

}  // namespace

int reductions_a_step(const RankEvidence& rank) {
  const std::vector<std::int64_t> passes = forward_passes(rank);
  if (static_cast<double>(passes.size()) < 2 * rank.step_count()) return 1;
  std::map<Sizes, int> times;  // the same sizes in the same order are the same gradients
  for (Sizes& sizes : reductions_after(passes, rank)) {
    if (!sizes.empty()) ++times[std::move(sizes)];
  }
  int most = 0;
  for (const auto& [sizes, count] : times) most = std::max(most, count);
  return std::max(1, static_cast<int>(std::lround(most / rank.step_count())));
}

double speedup_if_reduced_once(const Evidence& evidence, int times) {
  Change change(evidence);
  kMultiGpuCommRule.change(evidence, 1.0 - 1.0 / times, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (copies_gradients(rank, rank.list.works[i])) change.ranks[r].duration_scale[i] /= static_cast<float>(times);
    }
  }
  return speedup_of(evidence, change);
}

}  // namespace warpmark::analyze
