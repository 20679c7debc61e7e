#include "collectives/results/loops.h"

#include <algorithm>
#include <numeric>

#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

double combined(const std::vector<double>& values, RankAverage average) {
  if (values.empty()) return 0;
  switch (average) {
    case RankAverage::rank0: return values.front();
    case RankAverage::least: return *std::min_element(values.begin(), values.end());
    case RankAverage::largest: return *std::max_element(values.begin(), values.end());
    case RankAverage::mean: break;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Placement placement_of_loops(const std::vector<RankLoop>& loops, const std::vector<std::int64_t>& offsets_ns,
                             RankAverage average) {
  Placement place;
  if (loops.empty()) return place;
  std::size_t iterations = loops[0].each.size();
  for (const auto& loop : loops) iterations = std::min(iterations, loop.each.size());
  for (const auto& loop : loops) {
    place.rank_s.push_back(loop.each.empty() ? loop.seconds : loop.seconds / static_cast<double>(loop.each.size()));
  }
  place.time_s = combined(place.rank_s, average);
  std::vector<double> skews;
  std::vector<std::size_t> late(loops.size(), 0);
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> seconds;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    std::size_t last_rank = 0;
    for (std::size_t rank = 0; rank < loops.size(); ++rank) {
      seconds.push_back(loops[rank].each[i].seconds);
      const std::int64_t begin = loops[rank].each[i].begin_ns + (rank < offsets_ns.size() ? offsets_ns[rank] : 0);
      first = std::min(first, begin);
      if (begin > last) last = begin, last_rank = rank;
    }
    place.samples_s.push_back(combined(seconds, average));
    skews.push_back(static_cast<double>(last - first) * 1e-9);
    ++late[last_rank];
  }
  if (iterations == 0 || loops.size() < 2) return place;
  place.skew_s = stats::median(skews);
  const auto most = std::max_element(late.begin(), late.end());
  place.late_rank = static_cast<int>(most - late.begin());
  place.late_share = static_cast<double>(*most) / static_cast<double>(iterations);
  return place;
}

}  // namespace warpmark::collectives
