#include "validate/guard/commit_order.h"

#include <algorithm>

namespace warpmark::validate {

void sort_by_commits(std::vector<store::RunPoint>& points, const CommitOrder& order) {
  struct Placed {
    std::int64_t age;
    std::size_t at;
  };
  std::vector<Placed> known;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = order.age.find(points[i].commit);
    if (found == order.age.end()) continue;
    known.push_back({found->second, i});
    places.push_back(i);
  }
  const auto younger = [](const Placed& a, const Placed& b) { return a.age < b.age; };
  if (std::is_sorted(known.begin(), known.end(), younger)) return;
  std::stable_sort(known.begin(), known.end(), younger);
  std::vector<store::RunPoint> sorted;
  sorted.reserve(known.size());
  for (const auto& one : known) sorted.push_back(std::move(points[one.at]));
  for (std::size_t i = 0; i < places.size(); ++i) points[places[i]] = std::move(sorted[i]);
}

}  // namespace warpmark::validate
