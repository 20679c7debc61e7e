#include "measure/disturbance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace warpmark::measure {
namespace {

// A share of the host's time above `note` is recorded, above `mistrust` it can explain a difference of the size that
// people act on (a few per cent).
constexpr double kStealNote = 0.01;
constexpr double kStealMistrust = 0.05;
constexpr double kOtherLoadNote = 0.05;
constexpr double kOtherLoadMistrust = 0.20;
// Below this much wall time /proc/stat's 10 ms ticks say nothing about shares.
constexpr double kShortestForShares = 0.2;
constexpr double kClockNote = 0.03;
constexpr double kClockMistrust = 0.10;
constexpr double kBusyGpu = 0.05;

// NVML's names of what slows a GPU down although nobody asked for it. Hitting the power cap is the card's normal state
// under matrix work: recorded, but the result stands, as the cap is part of the machine.
constexpr std::array<std::string_view, 4> kFaultReasons{"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown",
                                                        "hw_power_brake_slowdown"};
constexpr std::array<std::string_view, 1> kCapReasons{"sw_power_cap"};

std::optional<double> value_of(const device::Conditions& conditions, std::string_view id) {
  for (const auto& sensor : conditions.sensors) {
    if (sensor.id == id) return sensor.value;
  }
  return std::nullopt;
}

std::optional<double> increase(const DisturbanceInput& input, std::string_view id) {
  const auto before = value_of(input.before, id);
  const auto after = value_of(input.after, id);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

void judge_host(const DisturbanceInput& input, std::vector<Disturbance>& found) {
  if (input.elapsed_s < kShortestForShares) return;
  const double host_time = input.elapsed_s * input.host_cpus;
  const bool on_cpu = input.device.backend == "cpu";
  if (const auto steal = increase(input, "steal_time"); steal && *steal / host_time >= kStealNote) {
    const double share = *steal / host_time;
    found.push_back({"steal", fmt::format("the hypervisor took {:.1f} % of the CPU time", share * 100),
                     on_cpu && share >= kStealMistrust});
  }
  const auto busy = increase(input, "busy_time");
  const auto own = increase(input, "process_time");
  if (busy && own) {
    const double share = std::max(0.0, *busy - *own) / host_time;
    if (share >= kOtherLoadNote) {
      found.push_back({"other_load", fmt::format("other processes used {:.0f} % of the CPU time", share * 100),
                       on_cpu && share >= kOtherLoadMistrust});
    }
  }
}

void judge_clock(const DisturbanceInput& input, std::string_view id, std::string_view name,
                 std::vector<Disturbance>& found) {
  // At its power cap a GPU moves its clock all the time; that is recorded as the cap, not as a disturbance.
  const bool capped = std::any_of(found.begin(), found.end(), [](const auto& item) { return item.id == "power_cap"; });
  const auto before = value_of(input.before, id);
  const auto after = value_of(input.after, id);
  if (!before || !after || *before <= 0) return;
  const double change = *after / *before - 1;
  if (std::fabs(change) < kClockNote) return;
  found.push_back({"clock_change",
                   fmt::format("the {} clock went from {:.0f} to {:.0f} MHz ({:+.1f} %)", name, *before * 1e-6,
                               *after * 1e-6, change * 100),
                   std::fabs(change) >= kClockMistrust && !capped});
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void judge_gpu(const DisturbanceInput& input, std::vector<Disturbance>& found) {
  auto reasons = input.before.throttle_reasons;
  reasons.insert(reasons.end(), input.after.throttle_reasons.begin(), input.after.throttle_reasons.end());
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  for (const auto& reason : reasons) {
    if (contains(kFaultReasons, reason)) found.push_back({"throttle", "the GPU was throttled: " + reason, true});
    if (contains(kCapReasons, reason)) found.push_back({"power_cap", "the GPU ran at its power cap", false});
  }
  if (const auto errors = increase(input, "ecc_uncorrected"); errors && *errors > 0) {
    found.push_back({"ecc", fmt::format("{:.0f} uncorrectable memory errors appeared", *errors), true});
  }
  if (!input.after.other_processes.empty()) {
    // Another process that only holds memory does not slow us down; a busy one does. Before the timed launches our own
    // work is idle, so utilization there belongs to others, but NVML averages it over up to a second that includes our
    // warm-up. Hence the presence is recorded and never decides alone.
    const auto& others = input.after.other_processes;
    const auto utilization = value_of(input.before, "other_utilization");
    found.push_back({"competing_process",
                     fmt::format("{} other process{} on this GPU ({})", others.size(), others.size() == 1 ? "" : "es",
                                 others.front()),
                     utilization && *utilization >= kBusyGpu});
  }
}

}  // namespace

Environment judge_environment(const DisturbanceInput& input) {
  Environment environment;
  for (const auto& sensor : input.before.sensors) {
    environment.readings.push_back({sensor.id, sensor.unit, sensor.value, value_of(input.after, sensor.id)});
  }
  judge_host(input, environment.disturbances);
  if (input.device.backend == "cpu") {
    judge_clock(input, "core_clock", "core", environment.disturbances);
  } else {
    judge_gpu(input, environment.disturbances);
    judge_clock(input, "sm_clock", "multiprocessor", environment.disturbances);
  }
  return environment;
}

}  // namespace warpmark::measure
