#include "analyze/step_shares.h"

#include <algorithm>

#include "analyze/evidence/evidence.h"

namespace warpmark::analyze {

namespace {

bool is_host_copy_part(Part part) {
  return part == Part::exposed_copy_to_device || part == Part::exposed_copy_to_host || part == Part::idle_host_transfer;
}

/// Of one rank, seconds a step.
StepShares shares_of(const RankEvidence& rank, const Attributions& attributions) {
  StepShares shares;
  const double waiting = rank.part_ns(Part::idle_waiting_for_rank);
  const double for_nobody =
      std::min(waiting, attributions.attributed_ns(AttributedTo::multi_gpu_comm, Part::idle_waiting_for_rank));
  const double for_hosts =
      std::min(waiting - for_nobody, attributions.attributed_ns(AttributedTo::late_host, Part::idle_waiting_for_rank));
  const double between = rank.between_collectives_ns();
  shares.step_s = rank.undisturbed_step_ns() * 1e-9;
  shares.communication_s = (rank.part_ns(Part::exposed_communication) + between + for_nobody) * 1e-9;
  shares.imbalance_s = (waiting - for_nobody - for_hosts) * 1e-9;
  shares.loading_s = rank.part_ns(Part::idle_data_loading) * 1e-9;
  shares.host_s = (for_hosts - between) * 1e-9;
  for (const Part part : {Part::idle_sync, Part::idle_allocation, Part::idle_optimizer, Part::idle_launch,
                          Part::idle_host_work, Part::idle_host_transfer}) {
    const bool communicates =
        rank.over_host != OverHost::nothing &&
        (is_host_copy_part(part) || (part == Part::idle_optimizer && rank.over_host == OverHost::gradients));
    (communicates ? shares.communication_s : shares.host_s) += rank.part_ns(part) * 1e-9;
  }
  if (rank.over_host != OverHost::nothing) {
    shares.communication_s +=
        (rank.part_ns(Part::exposed_copy_to_device) + rank.part_ns(Part::exposed_copy_to_host)) * 1e-9;
  }
  shares.compute_s = rank.group_ns("compute") * 1e-9;
  shares.rest_s = shares.step_s - shares.communication_s - shares.imbalance_s - shares.loading_s - shares.host_s;
  const auto busy = static_cast<double>(rank.busy.covered(rank.steps.start(), rank.steps.end())) / rank.step_count();
  shares.utilization = std::min(1.0, busy * 1e-9 / shares.step_s);
  if (!rank.loading.waits_ns.empty()) shares.loading_host_s = rank.loading.mean_ns() * 1e-9;
  return shares;
}

}  // namespace

Result<StepShares> step_shares(const ProfileSession& session) {
  const Evidence evidence = gather_evidence(session);
  if (!evidence.has_timeline()) {
    return data_error("the profile holds no steps in which a GPU works", "warpmark analyze shows what it holds");
  }
  if (!evidence.of_one_program()) {
    return data_error("the profile holds ranks of several programs", "give the files of one run");
  }
  StepShares mean;
  const auto ranks = static_cast<double>(evidence.ranks.size());
  double loading = 0;
  int loaders = 0;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const StepShares one = shares_of(evidence.ranks[r], evidence.attribution.ranks[r]);
    mean.step_s += one.step_s / ranks;
    mean.communication_s += one.communication_s / ranks;
    mean.imbalance_s += one.imbalance_s / ranks;
    mean.loading_s += one.loading_s / ranks;
    mean.host_s += one.host_s / ranks;
    mean.compute_s += one.compute_s / ranks;
    mean.rest_s += one.rest_s / ranks;
    mean.utilization += one.utilization / ranks;
    if (one.loading_host_s) loading += *one.loading_host_s, ++loaders;
  }
  if (loaders > 0) mean.loading_host_s = loading / loaders;
  mean.ranks = static_cast<int>(evidence.ranks.size());
  const Imbalance& imbalance = evidence.attribution.imbalance;
  if (mean.imbalance_s > kMatters * mean.step_s && !imbalance.own_ns.empty())
    mean.late_rank = evidence.ranks[imbalance.latest].number();
  return mean;
}

}  // namespace warpmark::analyze
