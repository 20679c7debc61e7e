#include "validate/scaling/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::validate {
namespace {

double rate_of(const ScalingRun& run) { return run.throughput.value_or(run.seconds > 0 ? run.work / run.seconds : 0); }

using ByRound = std::map<int, double>;

/// Of the rounds that have both.
Ranged speed_of(const ByRound& capped, const ByRound& largest) {
  std::vector<double> some, full;
  for (const auto& [round, rate] : capped) {
    const auto other = largest.find(round);
    if (other == largest.end()) continue;
    some.push_back(std::log(rate));
    full.push_back(std::log(other->second));
  }
  if (some.empty()) return {};
  double sum = 0;
  for (std::size_t i = 0; i < some.size(); ++i) sum += some[i] - full[i];
  Ranged speed{std::exp(sum / static_cast<double>(some.size())), std::nullopt};
  if (some.size() < 2) return speed;
  const auto test = stats::paired_t(full, some);
  speed.interval = Interval{std::exp(test.interval.low), std::exp(test.interval.high), 0.95};
  return speed;
}

std::string verdict_of(const PowerCaps& caps) {
  const PowerCapPoint* best = nullptr;
  const PowerCapPoint* largest = nullptr;
  for (const auto& point : caps.points) {
    if (point.throughput.empty()) continue;
    largest = &point;
    if (point.work_per_joule && (best == nullptr || *point.work_per_joule > *best->work_per_joule)) best = &point;
  }
  if (best == nullptr || !largest->work_per_joule) return "Energy was not measured: no cap can be called efficient.";
  if (best == largest) return "The largest cap does the most work for a joule: nothing is saved below it.";
  return fmt::format("{:.0f} W does {} more work for a joule than {:.0f} W, at {} of its speed.", best->cap_w,
                     format_percent(*best->work_per_joule / *largest->work_per_joule - 1), largest->cap_w,
                     format_percent(best->speed.value));
}

}  // namespace

void judge_power_caps(const std::vector<CappedRun>& runs, PowerCaps& caps) {
  std::map<double, PowerCapPoint> points;
  std::map<double, ByRound> rates;
  for (auto& point : caps.points) points[point.cap_w] = std::move(point);
  for (const auto& [cap, run] : runs) {
    const double rate = rate_of(run);
    if (!(rate > 0)) continue;
    auto& point = points[cap];
    point.cap_w = cap;
    point.throughput.push_back(rate);
    if (run.joules && *run.joules > 0) point.energy_per_work.push_back(*run.joules / (rate * run.seconds));
    rates[cap][run.round] = rate;
  }
  caps.points.clear();
  const ByRound none;
  for (auto& [cap, point] : points) {
    point.speed = speed_of(rates[cap], rates.empty() ? none : rates.rbegin()->second);
    if (!point.energy_per_work.empty()) {
      point.energy = Ranged{stats::median(point.energy_per_work), stats::median_interval(point.energy_per_work)};
      point.work_per_joule = 1 / point.energy->value;
    }
    caps.points.push_back(std::move(point));
  }
  const PowerCapPoint* best = nullptr;
  for (const auto& point : caps.points) {
    if (point.work_per_joule && (best == nullptr || *point.work_per_joule > *best->work_per_joule)) best = &point;
  }
  if (best != nullptr) caps.most_efficient = best->cap_w;
  caps.verdict = verdict_of(caps);
}

}  // namespace warpmark::validate
