#include "validate/compare/environment_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "validate/compare/environment_guard.h"

namespace warpmark::validate {
namespace {

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
