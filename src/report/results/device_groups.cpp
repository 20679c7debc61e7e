#include "report/results/device_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/results/build_parts.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

constexpr double kSlower = 0.05;
constexpr double kDeviations = 5;

bool same_but_for_the_device(const Run& a, const Run& b) {
  return a.workload == b.workload && a.mode == b.mode && a.params == b.params;
}

}  // namespace

bool DeviceGroup::contains(const std::string& device) const {
  return std::find(ids.begin(), ids.end(), device) != ids.end();
}

std::string DeviceGroup::label() const { return ids.size() == 1 ? ids.front() : ids.front() + " to " + ids.back(); }

std::vector<DeviceGroup> device_groups(const Machine& machine) {
  std::vector<DeviceGroup> groups;
  std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t>, std::size_t> places;
  for (const auto& device : machine.devices) {
    const auto kind = std::tuple(device.backend, device.name, static_cast<std::int64_t>(device.compute_units),
                                 static_cast<std::int64_t>(device.memory_bytes));
    const auto [place, is_new] = places.try_emplace(kind, groups.size());
    if (is_new || device.backend == "cpu" || device.name.empty()) {
      groups.push_back({.ids = {device.id}, .name = device.name});
    } else {
      groups[place->second].ids.push_back(device.id);
    }
  }
  return groups;
}

std::vector<DeviceGroup> device_groups(const Session& session) {
  auto groups = device_groups(session.machine);
  for (const auto& run : session.runs) {
    const bool known = std::ranges::any_of(groups, [&](const auto& group) { return group.contains(run.device); });
    if (!known) groups.push_back({.ids = {run.device}, .name = {}});
  }
  return groups;
}

std::vector<std::vector<const Run*>> cases_of(const Session& session, const DeviceGroup& group) {
  std::vector<std::vector<const Run*>> cases;
  for (const auto& run : session.runs) {
    if (!group.contains(run.device)) continue;
    const auto known = std::find_if(cases.begin(), cases.end(),
                                    [&](const auto& runs) { return same_but_for_the_device(*runs.front(), run); });
    if (known == cases.end()) {
      cases.push_back({&run});
    } else {
      known->push_back(&run);
    }
  }
  std::erase_if(cases, [](const auto& runs) { return runs.size() < 2; });
  return cases;
}

DeviceSpread spread_of(const std::vector<const Run*>& runs) {
  std::vector<double> medians;
  for (const Run* run : runs) {
    if (shows_speed(*run)) medians.push_back(run->metrics.front().summary.median);
  }
  if (medians.empty()) return {};
  DeviceSpread spread;
  spread.median = stats::median(medians);
  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  if (!(spread.median > 0)) return spread;
  spread.spread = (*high - *low) / spread.median;
  std::vector<double> away;
  for (const double value : medians) away.push_back(std::fabs(value - spread.median) / spread.median);
  const double limit = std::max(kSlower, kDeviations * stats::median(away));
  for (const Run* run : runs) {
    if (!shows_speed(*run)) continue;
    const double change = run->metrics.front().summary.median / spread.median - 1;
    const bool slower = run->metrics.front().better == Better::higher ? change < -limit : change > limit;
    if (!slower || std::fabs(change) < std::fabs(spread.outlier_change)) continue;
    spread.outlier = run->device;
    spread.outlier_change = change;
  }
  return spread;
}

}  // namespace warpmark::report
