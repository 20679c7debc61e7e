#include "analyze/rules/imbalance.h"

#include <algorithm>
#include <vector>

#include "analyze/rules/lead.h"

namespace warpmark::analyze {

namespace {

constexpr double kMoreOften = 2;

/// Of the critical rank, a step, beyond the median of the others.
double excess_ns(const Evidence& evidence, Part part) {
  const double usual =
      median_of_others(evidence, evidence.critical, [part](const RankEvidence& one) { return one.part_ns(part); });
  return std::max(0.0, evidence.rank().part_ns(part) - usual);
}

/// Waits of the host for the GPU, a step.
double waits_of(const RankEvidence& rank) {
  const auto waits = std::ranges::count_if(rank.host->blocking_calls(), [&rank](const BlockingCall& call) {
    return call.cause == HostCause::sync && call.end >= rank.steps.start() && call.start < rank.steps.end();
  });
  return static_cast<double>(waits) / rank.step_count();
}

/// What the waits of the critical rank cost beside themselves, its host's lead, if it clearly waits more often than the
/// others. (How long each takes says little: those of a rank that waits for another are short.) A step
double lead_of_excess_ns(const Evidence& evidence) {
  const double waits = waits_of(evidence.rank());
  const double usual = median_of_others(evidence, evidence.critical, waits_of);
  if (waits < kMoreOften * usual + 1) return 0;
  return lost_lead_ns(evidence) * (1 - usual / waits);
}

/// Of this rank's idle time for dispatching, a step, what would not be there if its host dispatched as long as the
/// others'.
double dispatch_beyond_others_ns(const Evidence& evidence, std::size_t rank) {
  const double usual = median_of_others(evidence, rank, [](const RankEvidence& one) { return one.dispatch_ns(); });
  const RankEvidence& one = evidence.ranks[rank];
  const double own = one.dispatch_ns();
  if (usual <= 0 || own < kClearlyMore * usual) return 0;
  return (one.part_ns(Part::idle_launch) - one.between_collectives_ns()) * (1 - usual / own);
}

/// The share of the late rank's excess that load_imbalance blames: no more than the others wait. 0 if no rank waits for
/// the critical one.
double blamed_share(const Evidence& evidence) {
  const Imbalance imbalance = imbalance_of(evidence);
  if (imbalance.late_ns <= 0 || imbalance.latest != evidence.critical) return 0;
  double all = dispatch_beyond_others_ns(evidence, imbalance.latest) + lead_of_excess_ns(evidence);
  for (std::size_t i = 0; i < kParts; ++i) {
    if (is_own_work(static_cast<Part>(i))) all += excess_ns(evidence, static_cast<Part>(i));
  }
  return all > 0 ? std::min(1.0, imbalance.explained_ns() / all) : 0;
}

}  // namespace

Imbalance imbalance_of(const Evidence& evidence) {
  Imbalance result;
  if (evidence.ranks.size() < 2) return result;
  double sum = 0;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const double lead = r == evidence.critical ? lead_of_excess_ns(evidence) : 0;
    result.own_ns.push_back(evidence.ranks[r].own_work_ns() + dispatch_beyond_others_ns(evidence, r) + lead);
    sum += result.own_ns.back();
    result.waiting_ns = std::max(result.waiting_ns, evidence.ranks[r].part_ns(Part::idle_waiting_for_rank));
    if (result.own_ns[r] > result.own_ns[result.latest]) result.latest = r;
  }
  const double most = result.own_ns[result.latest];
  result.mean_late_ns = most - sum / static_cast<double>(result.own_ns.size());
  std::vector<double> others = result.own_ns;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(result.latest));
  std::sort(others.begin(), others.end());
  result.late_ns = std::max(0.0, most - others[others.size() / 2]);
  return result;
}

double late_excess_ns(const Evidence& evidence, std::initializer_list<Part> parts) {
  if (evidence.ranks.size() < 2) return 0;
  double wanted = 0;
  for (const Part part : parts) {
    wanted += excess_ns(evidence, part) + (part == Part::idle_sync ? lead_of_excess_ns(evidence) : 0);
  }
  return wanted > 0 ? wanted * blamed_share(evidence) : 0;
}

double late_dispatch_ns(const Evidence& evidence) {
  const double beyond = evidence.ranks.size() < 2 ? 0 : dispatch_beyond_others_ns(evidence, evidence.critical);
  return beyond > 0 ? beyond * blamed_share(evidence) : 0;
}

std::vector<double> waiting_for_dispatch_ns(const Evidence& evidence) {
  std::vector<double> waiting(evidence.ranks.size());
  const RankEvidence& late = evidence.rank();
  const auto late_of = [](const RankEvidence& rank) {
    std::vector<Interval> pieces = rank.breakdown.late_dispatch;
    if (rank.loading.brought_by_workers()) {
      pieces.insert(pieces.end(), rank.breakdown.late_loading.begin(), rank.breakdown.late_loading.end());
    }
    return Coverage(std::move(pieces));
  };
  const Coverage of_late = late_of(late);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    if (&rank == &late) continue;
    const Coverage own = late_of(rank);
    const std::int64_t shift = rank.timeline->origin_ns + rank.alignment.clock_offset_ns - late.timeline->origin_ns -
                               late.alignment.clock_offset_ns;
    double all = 0, explained = 0;
    std::int64_t met = rank.steps.start();  // the end of the collective before: all ranks left it together
    for (std::size_t i = 0; i < rank.alignment.wait_until.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (work.category != Category::communication || !rank.in_steps(work)) continue;
      const std::int64_t until = rank.alignment.wait_until[i];
      if (until > work.start) {
        const std::int64_t wait = until - work.start;
        const std::int64_t later = of_late.covered(met + shift, until + shift) - own.covered(met, work.start);
        all += static_cast<double>(wait);
        if (rank.alignment.late_rank[i] == late.index) {
          explained += static_cast<double>(std::clamp<std::int64_t>(later, 0, wait));
        }
      }
      met = std::max(met, work.end);
    }
    // Waits that computation hides explain nothing that is exposed.
    if (all > 0) waiting[r] = rank.part_ns(Part::idle_waiting_for_rank) * explained / all;
  }
  return waiting;
}

}  // namespace warpmark::analyze
