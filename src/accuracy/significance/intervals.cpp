#include "accuracy/significance/intervals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/distributions.h"
#include "stats/order_statistics.h"
#include "stats/random.h"

namespace warpmark::accuracy {

Interval wilson(double k, double n, double confidence) {
  if (!(n > 0)) return {0, 1, confidence};
  const double z = stats::normal_quantile(0.5 + confidence / 2), p = k / n, z2 = z * z;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // At 0 and at n the limit is exact; rounding would leave it beside.
  return {k == 0 ? 0 : std::max(0.0, middle - half), k == n ? 1 : std::min(1.0, middle + half), confidence};
}

Groups::Groups(std::span<const std::string> names) : examples_(names.size()) {
  std::map<std::string, std::size_t> known;
  std::vector<std::vector<std::uint32_t>> members;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = names[i].empty() ? known.end() : known.find(names[i]);
    if (found == known.end()) {
      if (!names[i].empty()) known.emplace(names[i], members.size());
      members.push_back({static_cast<std::uint32_t>(i)});
    } else {
      members[found->second].push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (members.size() < examples_) members_ = std::move(members);
}

void Groups::draw(std::uint64_t seed, std::uint64_t resample, std::vector<std::uint32_t>& into) const {
  into.clear();
  stats::Random random(stats::derive_seed(seed, resample));
  const std::size_t n = count();
  for (std::size_t i = 0; i < n; ++i) {
    const auto drawn = static_cast<std::size_t>(((random() >> 32) * n) >> 32);
    if (are_single()) {
      into.push_back(static_cast<std::uint32_t>(drawn));
    } else {
      into.insert(into.end(), members_[drawn].begin(), members_[drawn].end());
    }
  }
}

Interval percentile_interval(std::vector<double>& resampled, std::size_t units, double confidence) {
  std::sort(resampled.begin(), resampled.end());
  const auto n = static_cast<double>(units);
  double tail = (1 - confidence) / 2;
  if (units >= 2) tail = stats::normal_tail(std::sqrt(n / (n - 1)) * stats::t_quantile_of_tail(tail, n - 1));
  return {stats::quantile_of_sorted(resampled, tail), stats::quantile_of_sorted(resampled, 1 - tail), confidence};
}

ScoreInterval interval_of(const Measured& measured, std::size_t system, const Groups& groups,
                          const ResampleOptions& options) {
  const auto n = static_cast<double>(measured.examples);
  if (measured.is_share && groups.are_single() && measured.examples > 0) {
    const Interval interval = wilson(value_of(measured, system) * n, n, options.confidence);
    return {interval.low, interval.high, "wilson"};
  }
  if (groups.count() < 2) return {};
  std::vector<double> resampled;
  std::vector<std::uint32_t> rows;
  const auto offset = static_cast<std::uint32_t>(system * measured.examples);
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    groups.draw(options.seed, static_cast<std::uint64_t>(i), rows);
    for (auto& row : rows) row += offset;
    resampled.push_back(measured.value(rows));
  }
  const Interval interval = percentile_interval(resampled, groups.count(), options.confidence);
  return {interval.low, interval.high, groups.are_single() ? "bootstrap" : "clustered bootstrap"};
}

}  // namespace warpmark::accuracy
