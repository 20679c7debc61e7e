#include "analyze/evidence/imbalance.h"

#include <algorithm>
#include <vector>

namespace warpmark::analyze {

namespace {

/// The share of a rank's idle time while its host does something for `own` that is not there for all: the others' hosts
/// do it for `usual`, if only while their GPUs wait for this one.
double share_beyond(double own, double usual) { return own > 0 && own >= kClearlyMore * usual ? 1 - usual / own : 0; }

/// Waits of the host for the GPU, a step.
double waits_of(const RankEvidence& rank) {
  const auto waits = std::ranges::count_if(rank.host->blocking_calls(), [&rank](const BlockingCall& call) {
    return call.cause == HostCause::sync && call.end >= rank.steps.start() && call.start < rank.steps.end();
  });
  return static_cast<double>(waits) / rank.step_count();
}

double excess_ns(const Facts& facts, Part part) {
  const double usual =
      median_of_others(facts, facts.critical, [part](const RankEvidence& one) { return one.part_ns(part); });
  return std::max(0.0, facts.rank().part_ns(part) - usual);
}

/// What worker processes bring late is nobody's own: they deliver in bursts, now to one rank, now to another.
double loading_ns(const Facts& facts) {
  const RankEvidence& late = facts.rank();
  if (late.loading.brought_by_workers()) return 0;
  if (!late.replay.knows_host()) return excess_ns(facts, Part::idle_data_loading);
  const auto loads = [](const RankEvidence& rank) { return rank.replay.host_ns(HostCause::data_loading); };
  return late.part_ns(Part::idle_data_loading) *
         share_beyond(loads(late), median_of_others(facts, facts.critical, loads));
}

/// What its waits cost beside themselves. (How long each takes says little: those of a rank that waits for another are
/// short.)
double lead_ns(const Facts& facts, double lost_lead_ns, double dispatching_ns) {
  const double waits = waits_of(facts.rank());
  const double usual = median_of_others(facts, facts.critical, waits_of);
  if (waits < kClearlyMore * usual + 1) return 0;
  return std::min(dispatching_ns, lost_lead_ns * (1 - usual / waits));
}

/// No more than its GPU idles longer for it than the others' do: dispatching may be hidden.
double dispatch_ns(const Facts& facts, double dispatching_ns) {
  const auto dispatches = [](const RankEvidence& rank) {
    return rank.dispatch_ns() - rank.replay.host_ns(HostCause::optimizer);
  };
  const double own = dispatches(facts.rank());
  const double usual = median_of_others(facts, facts.critical, dispatches);
  return std::min(dispatching_ns * share_beyond(own, usual), excess_ns(facts, Part::idle_launch));
}

}  // namespace

double median_without(std::vector<double> values, std::size_t left_out) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(left_out));
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Imbalance imbalance_of(const Facts& facts, double lost_lead_ns) {
  Imbalance result;
  if (facts.ranks.size() < 2 || !facts.of_one_program()) return result;
  for (const RankEvidence& rank : facts.ranks) result.own_ns.push_back(rank.own_work_ns());
  const double dispatching =
      std::max(0.0, facts.rank().part_ns(Part::idle_launch) - facts.rank().between_collectives_ns());
  result.loading_ns = loading_ns(facts);
  result.lead_ns = lead_ns(facts, lost_lead_ns, dispatching);
  result.dispatch_ns = dispatch_ns(facts, dispatching - result.lead_ns);
  result.own_ns[facts.critical] += result.loading_ns + result.lead_ns + result.dispatch_ns;
  result.latest =
      static_cast<std::size_t>(std::max_element(result.own_ns.begin(), result.own_ns.end()) - result.own_ns.begin());
  double sum = 0;
  for (std::size_t r = 0; r < facts.ranks.size(); ++r) {
    sum += result.own_ns[r];
    if (r == result.latest) continue;
    result.waiting_ns = std::max(result.waiting_ns, facts.ranks[r].part_ns(Part::idle_waiting_for_rank));
  }
  const double most = result.own_ns[result.latest];
  result.mean_late_ns = most - sum / static_cast<double>(result.own_ns.size());
  // Where most ranks are slow, the others' median is, too: then the few fast ones tell.
  result.late_ns = std::max({0.0, most - median_without(result.own_ns, result.latest), result.mean_late_ns});
  if (result.late_ns <= 0 || result.latest != facts.critical) return result;
  double all = result.loading_ns + result.lead_ns + result.dispatch_ns;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (is_own_work(static_cast<Part>(i))) all += excess_ns(facts, static_cast<Part>(i));
  }
  result.attributed_share = all > 0 ? std::min(1.0, result.explained_ns() / all) : 0;
  return result;
}

double late_excess_ns(const Facts& facts, const Imbalance& imbalance, std::initializer_list<Part> parts) {
  if (facts.ranks.size() < 2) return 0;
  double wanted = 0;
  for (const Part part : parts) {
    switch (part) {
      case Part::idle_data_loading: wanted += imbalance.loading_ns; break;
      case Part::idle_launch: wanted += imbalance.dispatch_ns; break;
      case Part::idle_sync: wanted += excess_ns(facts, part) + imbalance.lead_ns; break;
      default: wanted += excess_ns(facts, part);
    }
  }
  return wanted * imbalance.attributed_share;
}

}  // namespace warpmark::analyze
