#include "validate/compare/environment_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "measure/disturbance.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::validate {
namespace {

constexpr double kLoadDifference = 0.10;
constexpr double kStealDifference = 0.03;
constexpr double kClockDifference = 0.02;
// Virtual machines and turbo modes move a CPU's measured clock more than a GPU's.
constexpr double kCoreClockDifference = 0.05;
constexpr double kThrottleDifference = 0.25;
constexpr double kP = 0.01;

bool unlikely_by_chance(const std::vector<double>& a, const std::vector<double>& b) {
  return stats::mann_whitney(a, b).p < kP;
}

void compare_share(std::span<const Environment> a, std::span<const Environment> b, const char* id, double largest,
                   const char* sentence, std::vector<Disturbance>& found) {
  const auto before = readings_after(a, id), after = readings_after(b, id);
  if (before.size() < 3 || after.size() < 3) return;
  const double of_a = stats::mean_of(before), of_b = stats::mean_of(after);
  if (std::fabs(of_a - of_b) <= largest || !unlikely_by_chance(before, after)) return;
  found.push_back(
      {id, fmt::format("{} {:.1f} % of the CPU time during A and {:.1f} % during B", sentence, of_a * 100, of_b * 100),
       true});
}

/// Whether a variant's own work keeps the GPU with this clock at its power cap: the cap then sets the clock, as it does
/// wherever that work is done.
bool capped(std::span<const Environment> runs, const std::string& clock_id) {
  const auto gpu = clock_id.substr(0, clock_id.find('.'));
  const auto at_cap = [&](const Environment& run) {
    return std::any_of(run.disturbances.begin(), run.disturbances.end(),
                       [&](const auto& item) { return item.id == measure::kPowerCapId && item.device == gpu; });
  };
  return static_cast<double>(std::count_if(runs.begin(), runs.end(), at_cap)) >
         kThrottleDifference * static_cast<double>(runs.size());
}

void compare_clock(std::span<const Environment> a, std::span<const Environment> b, const std::string& id,
                   std::vector<Disturbance>& found) {
  const auto before = readings_after(a, id), after = readings_after(b, id);
  if (before.size() < 3 || after.size() < 3 || capped(a, id) || capped(b, id)) return;
  const double of_a = stats::median(before), of_b = stats::median(after);
  const double largest = id == "core_clock" ? kCoreClockDifference : kClockDifference;
  if (!(of_a > 0) || std::fabs(of_b / of_a - 1) <= largest || !unlikely_by_chance(before, after)) return;
  found.push_back(
      {"clock", fmt::format("{} was at {:.0f} MHz during A and at {:.0f} MHz during B", id, of_a * 1e-6, of_b * 1e-6),
       true});
}

/// Share of the runs that were throttled, and the first cause.
std::pair<std::vector<double>, std::string> throttled(std::span<const Environment> runs) {
  std::vector<double> flags;
  std::string cause;
  for (const auto& run : runs) {
    const auto found = std::find_if(run.disturbances.begin(), run.disturbances.end(),
                                    [](const auto& item) { return item.id == "throttle"; });
    flags.push_back(found != run.disturbances.end() ? 1 : 0);
    if (found != run.disturbances.end() && cause.empty()) cause = found->cause;
  }
  return {flags, cause};
}

void compare_throttling(std::span<const Environment> a, std::span<const Environment> b,
                        std::vector<Disturbance>& found) {
  const auto [of_a, cause_a] = throttled(a);
  const auto [of_b, cause_b] = throttled(b);
  if (of_a.size() < 3 || of_b.size() < 3) return;
  const double share_a = stats::mean_of(of_a), share_b = stats::mean_of(of_b);
  if (std::fabs(share_a - share_b) <= kThrottleDifference || !unlikely_by_chance(of_a, of_b)) return;
  found.push_back({"throttle",
                   fmt::format("{:.0f} % of the runs of A and {:.0f} % of B were throttled ({})", share_a * 100,
                               share_b * 100, share_a > share_b ? cause_a : cause_b),
                   true});
}

constexpr std::size_t kFewestRuns = 5;
constexpr double kLoad = 0.10, kSteal = 0.03, kClock = 0.02, kCoreClock = 0.05;

void judge_share(const Reading& now, double low, double high, double most, const char* sentence,
                 std::vector<Disturbance>& found) {
  if (*now.after <= high + most && *now.after >= low - most) return;
  found.push_back({now.id,
                   fmt::format("{} {:.1f} % of the CPU time, during the baseline {:.1f} to {:.1f} %", sentence,
                               *now.after * 100, low * 100, high * 100),
                   true});
}

void judge_clock(const Reading& now, double low, double high, std::vector<Disturbance>& found) {
  const double most = now.id == "core_clock" ? kCoreClock : kClock;
  if (*now.after <= high * (1 + most) && *now.after >= low * (1 - most)) return;
  found.push_back({"clock",
                   fmt::format("{} was at {:.0f} MHz, during the baseline at {:.0f} to {:.0f} MHz", now.id,
                               *now.after * 1e-6, low * 1e-6, high * 1e-6),
                   true});
}

}  // namespace

std::vector<double> readings_after(std::span<const Environment> runs, std::string_view id) {
  std::vector<double> values;
  for (const auto& run : runs) {
    for (const auto& reading : run.readings) {
      if (reading.id == id && reading.after) values.push_back(*reading.after);
    }
  }
  return values;
}

std::vector<Disturbance> compare_environments(std::span<const Environment> a, std::span<const Environment> b) {
  std::vector<Disturbance> found;
  compare_share(a, b, "other_load", kLoadDifference, "other processes used", found);
  compare_share(a, b, "steal", kStealDifference, "the hypervisor took", found);
  std::set<std::string> clocks;
  for (const auto& run : a) {
    for (const auto& reading : run.readings) {
      if (reading.id.ends_with("_clock")) clocks.insert(reading.id);
    }
  }
  for (const auto& id : clocks) compare_clock(a, b, id, found);
  compare_throttling(a, b, found);
  return found;
}

std::vector<Disturbance> environment_shift(std::span<const Environment> history, const Environment& now) {
  std::vector<Disturbance> found;
  for (const auto& reading : now.readings) {
    if (!reading.after) continue;
    const auto values = readings_after(history, reading.id);
    if (values.size() < kFewestRuns) continue;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (reading.id == "other_load") judge_share(reading, *low, *high, kLoad, "other processes used", found);
    if (reading.id == "steal") judge_share(reading, *low, *high, kSteal, "the hypervisor took", found);
    if (reading.id.ends_with("_clock") && *low > 0) judge_clock(reading, *low, *high, found);
  }
  return found;
}

}  // namespace warpmark::validate
