#include "analyze/rules/host_reduction.h"

#include <string_view>
#include <vector>

namespace warpmark::analyze {

double host_collectives(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  std::vector<bool> on_host(timeline.names.size());
  bool any = false;
  for (NameId i = 0; i < on_host.size(); ++i) {
    const std::string_view name = timeline.names.at(i);  // as torch.distributed names the ranges of its backends
    on_host[i] = name.starts_with("gloo:") || name.starts_with("mpi:");
    any = any || on_host[i];
  }
  if (!any) return 0;
  double collectives = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const std::int64_t start = timeline.events.start[i];
    collectives += on_host[timeline.events.name[i]] && start >= rank.steps.start() && start < rank.steps.end();
  }
  return collectives / rank.step_count();
}

bool reduces_over_host(const RankEvidence& rank) {
  constexpr double kFew = 4;  // barriers and broadcasts of values
  const double collectives = host_collectives(rank);
  if (collectives <= kFew) return false;
  double kernels = 0;
  for (const GpuWork& work : rank.list.works) {
    kernels += work.category == Category::communication && rank.in_steps(work);
  }
  return collectives * rank.step_count() > kernels;
}

}  // namespace warpmark::analyze
