#include "analyze/evidence/updates.h"

#include "analyze/names/kernel_category.h"
#include "analyze/names/kernel_names.h"

namespace warpmark::analyze {

Updates updates_in_steps(const RankEvidence& rank) {
  Updates sum;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::optimizer || !rank.in_steps(work)) continue;
    sum.kernels += 1;
    sum.multi_tensor += is_multi_tensor(rank.timeline->name_of(work.event));
    const auto ns = static_cast<double>(work.end - work.start);
    sum.gpu_ns += ns;
    if (is_whole_update(rank.timeline->name_of(work.event))) sum.fused += ns;
  }
  return sum;
}

double host_left_of_updates(const Updates& updates, double steps) { return steps / (steps + updates.kernels); }

double recorded_update_loss_ns(const RankEvidence& rank, const Updates& updates) {
  const double idle =
      rank.over_host == OverHost::gradients ? 0 : rank.part_ns(Part::idle_optimizer);  // else of multi_gpu_comm
  return rank.avoidable_ns(Owner::optimizer) + idle * (1 - host_left_of_updates(updates, rank.step_count()));
}

}  // namespace warpmark::analyze
