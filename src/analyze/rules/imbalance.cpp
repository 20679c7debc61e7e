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
  const auto sum_of = [&parts](const RankEvidence& rank) {
    double sum = 0;
    for (const Part part : parts) sum += rank.part_ns(part);
    return sum;
  };
  std::vector<double> others;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    if (r != imbalance.latest) others.push_back(sum_of(evidence.ranks[r]));
  }
  std::sort(others.begin(), others.end());
  const double excess = std::max(0.0, sum_of(evidence.rank()) - others[others.size() / 2]);
  return std::min(excess, imbalance.late_ns) * imbalance.explained_ns() / imbalance.late_ns;
}

std::vector<double> waiting_for_dispatch_ns(const Evidence& evidence) {
  const auto to_first = [](const RankEvidence& one) { return one.timeline->origin_ns + one.alignment.clock_offset_ns; };
  std::vector<Coverage> dispatching;  // by index into the session, as late_rank is
  std::vector<std::int64_t> clock;
  for (const RankEvidence& one : evidence.ranks) {
    dispatching.resize(std::max(dispatching.size(), one.index + 1));
    clock.resize(dispatching.size());
    std::vector<Interval> late = one.breakdown.late_dispatch;
    if (one.loading.by_workers()) {
      late.insert(late.end(), one.breakdown.late_loading.begin(), one.breakdown.late_loading.end());
    }
    dispatching[one.index] = Coverage(std::move(late));
    clock[one.index] = to_first(one);
  }
  std::vector<double> waiting;
  for (const RankEvidence& rank : evidence.ranks) {
    double sum = 0;
    for (std::size_t i = 0; i < rank.alignment.wait_until.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      const std::int64_t until = rank.alignment.wait_until[i];
      const std::size_t late = rank.alignment.late_rank[i];
      if (until <= work.start || late >= dispatching.size() || !rank.in_steps(work)) continue;
      const std::int64_t shift = clock[rank.index] - clock[late];
      sum += static_cast<double>(dispatching[late].covered(work.start + shift, until + shift));
    }
    waiting.push_back(std::min(sum / rank.step_count(), rank.part_ns(Part::idle_waiting_for_rank)));
  }
  return waiting;
}

}  // namespace warpmark::analyze
