// One rank has more to do than the others, which wait for it in every collective: their collectives look long, but it
// is not the network.
#include <cmath>

#include "analyze/rules/imbalance.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  const Imbalance imbalance = imbalance_of(evidence);
  const double lost = imbalance.explained_ns();
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const double step = late.undisturbed_step_ns();
  if (lost <= 0.001 * step) return {};
  Finding finding = make_finding(kLoadImbalanceRule, lost, step,
                                 "Rank " + std::to_string(late.timeline->rank) + " has more work: the others wait " +
                                     ms_text(lost) + " a step (" + percent_text(lost / step) + ") for it");
  for (const RankEvidence& rank : evidence.ranks) {
    const std::string which = "rank_" + std::to_string(rank.index);
    finding.evidence.push_back(time_fact(which + "_own_work",
                                         "Rank " + std::to_string(rank.timeline->rank) + ", own work per step",
                                         rank.own_work_ns()));
    finding.evidence.push_back(
        time_fact(which + "_waiting", "Rank " + std::to_string(rank.timeline->rank) + ", waiting for others per step",
                  rank.part_ns(Part::idle_waiting_for_rank)));
    if (finding.evidence.size() >= 16) break;
  }
  finding.recommendations = {
      {AdviceKind::code,
       "Give all ranks the same work: batches of equal size, samples bucketed by length, experts balanced.",
       "sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)"},
      {AdviceKind::command, "If the work is equal, compare the machines: clocks, throttling, other users of the GPU.",
       "nvidia-smi dmon -s pucvmet"},
  };
  show_works(
      late, [&late](std::size_t i) { return is_compute(late.list.works[i].category); }, finding);
  // Work is spread over all ranks, or is of no use and goes; waiting for input is of no use on any rank.
  const bool waits = late.part_ns(Part::idle_data_loading) > lost / 2;
  const double left_if_spread = step - std::min(imbalance.mean_late_ns, lost);
  const double left_if_gone = step - lost;
  finding.gain = gain_around(step / (waits ? left_if_gone : std::sqrt(left_if_spread * left_if_gone)),
                             kLoadImbalanceRule.calibration,
                             waits ? "without the late rank's excess, which is waiting for input"
                                   : "between the late rank's excess spread over all ranks, and gone");
  return {finding};
}

}  // namespace

constinit const Rule kLoadImbalanceRule = {
    "load_imbalance", "load_imbalance", "Does one rank make the others wait?", Need::several_ranks, apply,
    nullptr,          {1.0, -0.04}};

}  // namespace warpmark::analyze
