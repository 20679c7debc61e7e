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

}  // namespace warpmark::analyze
