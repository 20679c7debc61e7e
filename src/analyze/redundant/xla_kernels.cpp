#include "analyze/redundant/xla_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/names/kernel_category.h"
#include "analyze/names/ranges.h"

namespace warpmark::analyze {

namespace {

std::int64_t length_of(const WorkList& list, std::size_t i) { return list.works[i].end - list.works[i].start; }

/// Products next to `at` that take as long as it, on the side of `step`: of the backward pass there are two.
void take_twin(const WorkList& list, std::span<const std::size_t> order, std::size_t at, int step,
               std::vector<std::size_t>& found) {
  found.push_back(order[at]);
  const auto next = static_cast<std::ptrdiff_t>(at) + step;
  if (next < 0 || next >= std::ssize(order)) return;
  const std::size_t i = order[static_cast<std::size_t>(next)];
  const std::int64_t twin = length_of(list, order[at]);
  const bool alike = length_of(list, i) * 2 >= twin && length_of(list, i) <= twin * 2;
  if (list.works[i].category == Category::gemm && alike) found.push_back(i);
}

}  // namespace

EventIndex xla_module_of(const Timeline& timeline, const WorkList& list, std::size_t work) {
  for (EventIndex at = list.works[work].launch; at != kNoEvent; at = list.parent[at]) {
    if (names_xla_execution(timeline.name_of(at))) return at;
  }
  return kNoEvent;
}

double count_xla_executions(const Timeline& timeline, const WorkList& list, std::int64_t from_ns, std::int64_t to_ns) {
  std::set<EventIndex> executions;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (list.works[i].start < from_ns || list.works[i].start >= to_ns) continue;
    if (const EventIndex execution = xla_module_of(timeline, list, i); execution != kNoEvent)
      executions.insert(execution);
  }
  return static_cast<double>(executions.size());
}

bool xla_fused_apart(const Timeline& timeline, const WorkList& list, std::size_t before, std::size_t work) {
  if (!is_xla_fusion(timeline.name_of(list.works[before].event))) return false;
  if (!is_xla_fusion(timeline.name_of(list.works[work].event))) return false;
  const EventIndex one = xla_module_of(timeline, list, before);
  const EventIndex other = xla_module_of(timeline, list, work);
  return one == kNoEvent || other == kNoEvent || one == other;
}

std::vector<std::size_t> find_xla_attention(const Timeline& timeline, const WorkList& list,
                                            std::span<const std::size_t> order) {
  struct Run {
    std::int64_t passes_ns = 0;
    std::vector<std::size_t> works;
  };
  std::map<NameId, Run> runs;  // by the first fusion
  std::int64_t all = 0;
  std::size_t product = SIZE_MAX;  // the last one, as an index into `order`
  std::int64_t passes = 0;
  bool fusions_only = true;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t i = order[at];
    if (list.works[i].category == Category::memset) continue;
    all += length_of(list, i);
    if (list.works[i].category != Category::gemm) {
      passes += length_of(list, i);
      fusions_only = fusions_only && is_xla_fusion(timeline.name_of(list.works[i].event));
      continue;
    }
    // The last product of one execution and the first of the next one share no scores.
    const bool between = product != SIZE_MAX && at > product + 1 &&
                         xla_module_of(timeline, list, order[product]) == xla_module_of(timeline, list, i);
    if (between && fusions_only && passes >= kDispatchNs &&
        passes > length_of(list, order[product]) + length_of(list, i) && list.works[i].math != MatrixMath::simt_fp64) {
      Run& run = runs[timeline.events.name[list.works[order[product + 1]].event]];
      run.passes_ns += passes;
      take_twin(list, order, product, -1, run.works);
      for (std::size_t pass = product + 1; pass < at; ++pass) run.works.push_back(order[pass]);
      take_twin(list, order, at, +1, run.works);
    }
    product = at;
    passes = 0;
    fusions_only = true;
  }
  std::vector<std::size_t> found;
  for (const auto& [name, run] : runs) {
    if (static_cast<double>(run.passes_ns) >= kMatters * static_cast<double>(all))
      found.insert(found.end(), run.works.begin(), run.works.end());
  }
  return found;
}

}  // namespace warpmark::analyze
