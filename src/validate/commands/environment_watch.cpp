#include "validate/commands/command_experiment.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>

#include "device/cpu/conditions.h"
#include "device/nvml/nvml.h"
#include "measure/disturbance.h"

namespace warpmark::validate {
namespace {

// The kernel counts in ticks of 10 ms: below this a share would be off by several per cent.
constexpr double kShortestForShares = 0.2;

std::optional<double> reading_of(const device::Conditions& conditions, std::string_view id) {
  for (const auto& sensor : conditions.sensors) {
    if (sensor.id == id) return sensor.value;
  }
  return std::nullopt;
}

std::optional<double> increase(const device::Conditions& before, const device::Conditions& after, std::string_view id) {
  const auto from = reading_of(before, id), to = reading_of(after, id);
  if (!from || !to) return std::nullopt;
  return *to - *from;
}

}  // namespace

std::vector<Reading> host_readings(const device::Conditions& before, const device::Conditions& after, double elapsed_s,
                                   double cpu_s, int host_cpus) {
  std::vector<Reading> readings;
  const double host_time = elapsed_s * host_cpus;
  if (elapsed_s >= kShortestForShares && host_time > 0) {
    const auto own = increase(before, after, "process_time").value_or(0);
    if (const auto busy = increase(before, after, "busy_time")) {
      readings.push_back({"other_load", "1", std::nullopt, std::clamp((*busy - cpu_s - own) / host_time, 0.0, 1.0)});
    }
    if (const auto steal = increase(before, after, "steal_time")) {
      readings.push_back({"steal", "1", std::nullopt, std::clamp(*steal / host_time, 0.0, 1.0)});
    }
  }
  if (const auto waited = increase(before, after, "pressure_cpu_time"); waited && elapsed_s > 0) {
    readings.push_back({"cpu_wait", "1", std::nullopt, std::clamp(*waited / elapsed_s, 0.0, 1.0)});
  }
  if (elapsed_s > 0) readings.push_back({"cpus_used", "1", std::nullopt, cpu_s / elapsed_s});
  if (const auto clock = reading_of(after, "core_clock")) readings.push_back({"core_clock", "Hz", std::nullopt, clock});
  return readings;
}

EnvironmentWatch::EnvironmentWatch() {
  if (!device::nvml::available().available) return;
  const auto gpus = device::nvml::gpu_list();
  if (!gpus.ok()) return;
  for (const auto& gpu : *gpus) gpus_.push_back(gpu.uuid);
}

void EnvironmentWatch::before() { host_before_ = device::read_cpu_conditions("/"); }

Environment EnvironmentWatch::after(double elapsed_s, double cpu_s) {
  Environment environment;
  // GPUs first: they leave the state in which the sample was taken within milliseconds.
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto conditions = device::nvml::conditions_of(gpus_[i]);
    if (!conditions.ok()) continue;
    const std::string name = "cuda:" + std::to_string(i);
    for (const auto* id : {"sm_clock", "temperature"}) {
      if (const auto value = reading_of(*conditions, id)) {
        environment.readings.push_back(
            {name + "." + id, std::string_view(id) == "sm_clock" ? "Hz" : "degC", std::nullopt, value});
      }
    }
    for (const auto& reason : conditions->throttle_reasons) {
      if (!device::nvml::clock_event_reason_slows(reason)) continue;
      if (reason == device::nvml::kPowerCapReason) {
        environment.disturbances.push_back({measure::kPowerCapId, name + " ran at its power cap", false, name});
      } else {
        environment.disturbances.push_back({"throttle", name + " was slowed down: " + reason, false, name});
      }
    }
  }
  const int cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  auto host = host_readings(host_before_, device::read_cpu_conditions("/"), elapsed_s, cpu_s, cpus);
  environment.readings.insert(environment.readings.end(), host.begin(), host.end());
  return environment;
}

}  // namespace warpmark::validate
