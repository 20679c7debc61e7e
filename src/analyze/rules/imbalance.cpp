#include "analyze/rules/imbalance.h"

#include <algorithm>
#include <vector>

namespace warpmark::analyze {

Imbalance imbalance_of(const Evidence& evidence) {
  Imbalance result;
  if (evidence.ranks.size() < 2) return result;
  std::vector<double> own;
  double sum = 0;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    own.push_back(evidence.ranks[r].own_work_ns());
    sum += own.back();
    result.waiting_ns = std::max(result.waiting_ns, evidence.ranks[r].part_ns(Part::idle_waiting_for_rank));
    if (own[r] > own[result.latest]) result.latest = r;
  }
  const double most = own[result.latest];
  result.mean_late_ns = most - sum / static_cast<double>(own.size());
  own.erase(own.begin() + static_cast<std::ptrdiff_t>(result.latest));
  std::sort(own.begin(), own.end());
  result.late_ns = std::max(0.0, most - own[own.size() / 2]);
  return result;
}

double late_excess_ns(const Evidence& evidence, std::initializer_list<Part> parts) {
  const Imbalance imbalance = imbalance_of(evidence);
  if (imbalance.late_ns <= 0 || imbalance.latest != evidence.critical) return 0;
  const auto excess_of = [&](Part part) {
    std::vector<double> others;
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
      if (r != imbalance.latest) others.push_back(evidence.ranks[r].part_ns(part));
    }
    std::sort(others.begin(), others.end());
    return std::max(0.0, evidence.rank().part_ns(part) - others[others.size() / 2]);
  };
  double all = 0, wanted = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (is_own_work(static_cast<Part>(i))) all += excess_of(static_cast<Part>(i));
  }
  for (const Part part : parts) wanted += excess_of(part);
  return all > 0 ? wanted * std::min(1.0, imbalance.explained_ns() / all) : 0;
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
