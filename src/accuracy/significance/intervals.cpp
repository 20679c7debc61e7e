#include "accuracy/significance/intervals.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <map>

#include "stats/distributions.h"
#include "stats/order_statistics.h"
#include "stats/random.h"

namespace warpmark::accuracy {
namespace {

double beta_quantile(double p, double a, double b) {
  return boost::math::quantile(boost::math::beta_distribution<double, stats::DoublePolicy>(a, b), p);
}

}  // namespace

Interval clopper_pearson(double k, double n, double confidence) {
  if (!(n > 0)) return {0, 1, confidence};
  const double tail = (1 - confidence) / 2;
  return {k > 0 ? beta_quantile(tail, k, n - k + 1) : 0, k < n ? beta_quantile(1 - tail, k + 1, n - k) : 1, confidence};
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
    const Interval interval = clopper_pearson(std::round(value_of(measured, system) * n), n, options.confidence);
    return {interval.low, interval.high, "exact"};
  }
  if (groups.count() < 2 || std::isnan(value_of(measured, system))) return {};
  std::vector<double> resampled;
  std::vector<std::uint32_t> rows;
  const auto offset = static_cast<std::uint32_t>(system * measured.examples);
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    groups.draw(options.seed, static_cast<std::uint64_t>(i), rows);
    for (auto& row : rows) row += offset;
    const double value = measured.value(rows);
    if (!std::isnan(value)) resampled.push_back(value);  // a sample may leave the metric undefined
  }
  const Interval interval = percentile_interval(resampled, groups.count(), options.confidence);
  if (!(interval.low < interval.high)) return {};  // samples that are all alike do not show how the score varies
  return {interval.low, interval.high, groups.are_single() ? "bootstrap" : "clustered bootstrap"};
}

}  // namespace warpmark::accuracy
