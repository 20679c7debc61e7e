#include "stats/fixed_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/distributions.h"

namespace warpmark::stats {
namespace {

constexpr std::size_t kFewestSizes = 3;

struct Sums {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
};

}  // namespace

double FixedCost::fixed_share(double items) const {
  const double fixed = std::max(0.0, fixed_s), whole = fixed + std::max(0.0, per_item_s) * items;
  return whole > 0 ? fixed / whole : 0;
}

std::optional<FixedCost> fixed_cost(std::span<const SizedTime> times, double confidence) {
  Sums sums;
  std::map<double, std::pair<double, double>> by_size;  // sum and count of the times
  for (const auto& [items, seconds] : times) {
    if (!(seconds > 0) || !std::isfinite(seconds) || !std::isfinite(items)) return std::nullopt;
    const double w = 1 / (seconds * seconds);
    sums.w += w;
    sums.wx += w * items;
    sums.wy += w * seconds;
    sums.wxx += w * items * items;
    sums.wxy += w * items * seconds;
    by_size[items].first += seconds;
    by_size[items].second += 1;
  }
  if (by_size.size() < kFewestSizes) return std::nullopt;
  const double determinant = sums.w * sums.wxx - sums.wx * sums.wx;
  if (!(determinant > 0)) return std::nullopt;
  FixedCost cost;
  cost.per_item_s = (sums.w * sums.wxy - sums.wx * sums.wy) / determinant;
  cost.fixed_s = (sums.wxx * sums.wy - sums.wx * sums.wxy) / determinant;
  double squares = 0;
  for (const auto& [items, seconds] : times) {
    const double rest = (seconds - cost.fixed_s - cost.per_item_s * items) / seconds;
    squares += rest * rest;
  }
  const auto degrees = static_cast<double>(times.size()) - 2;
  const double variance = squares / degrees, t = t_quantile_of_tail((1 - confidence) / 2, degrees);
  const double of_fixed = t * std::sqrt(variance * sums.wxx / determinant);
  const double of_item = t * std::sqrt(variance * sums.w / determinant);
  cost.fixed_interval = {cost.fixed_s - of_fixed, cost.fixed_s + of_fixed, confidence};
  cost.per_item_interval = {cost.per_item_s - of_item, cost.per_item_s + of_item, confidence};
  for (const auto& [items, sum] : by_size) {
    const double line = cost.fixed_s + cost.per_item_s * items, mean = sum.first / sum.second;
    cost.worst_misfit = std::max(cost.worst_misfit, line > 0 ? std::fabs(mean / line - 1) : 1.0);
  }
  return cost;
}

}  // namespace warpmark::stats
