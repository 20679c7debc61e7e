#include "measure/disturbance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "device/nvml/nvml.h"

namespace warpmark::measure {
namespace {

// A share of the host's time above `note` is recorded, above `distrust` it can explain a difference of the size that
// people act on (a few per cent).
constexpr double kStealNote = 0.01;
constexpr double kStealDistrust = 0.05;
constexpr double kOtherLoadNote = 0.05;
constexpr double kOtherLoadDistrust = 0.20;
// /proc/stat counts in ticks of 10 ms. Over less wall time than this a share is off by several per cent, so only what
// is left of it without a tick of each CPU is taken for certain.
constexpr double kShortestForShares = 0.2;
constexpr double kTick_s = 0.01;
constexpr double kLongestForRounds = 1.0;  // s: a longer time tells of others than of a round of milliseconds

// A team is as late as its last thread, so one thread's waiting counts, not the mean. A thread that slept is in the
// queue for a moment whenever it is woken, some tens of microseconds in a virtual machine: that is the machine's own
// speed.
constexpr double kWakeUp_s = 100e-6;
constexpr double kWaitNote = 0.01;
constexpr double kWaitDistrust = 0.05;
// A wait spoils the sample that it falls into. In a measurement shorter than this one wait is a large share of the
// time, and yet leaves the median where it is unless the samples are few.
constexpr double kShortestForWaits = 0.1;
constexpr double kSpoiledSamples = 0.05;

constexpr double kClockNote = 0.03;
constexpr double kClockDistrust = 0.10;
constexpr double kBusyGpu = 0.05;

// NVML's names of what slows a GPU down although nobody asked for it. Hitting the power cap is the card's normal state
// under matrix work: recorded, but the result stands, as the cap is part of the machine.
constexpr std::array<std::string_view, 4> kFaultReasons{"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown",
                                                        "hw_power_brake_slowdown"};

std::optional<double> value_of(const device::Conditions& conditions, std::string_view id) {
  for (const auto& sensor : conditions.sensors) {
    if (sensor.id == id) return sensor.value;
  }
  return std::nullopt;
}

std::optional<double> increase(const device::Conditions& from, const device::Conditions& to, std::string_view id) {
  const auto before = value_of(from, id);
  const auto after = value_of(to, id);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

/// The part of `share` that is certain in spite of the ticks it is counted in.
double certain_share(double share, double elapsed_s) {
  return elapsed_s >= kShortestForShares ? share : share - kTick_s / elapsed_s;
}

void judge_host(const DisturbanceInput& input, std::vector<Disturbance>& found) {
  const bool longer =
      input.elapsed_s < kShortestForShares && input.host_before != nullptr && input.host_elapsed_s <= kLongestForRounds;
  const auto& before = longer ? *input.host_before : input.before;
  const double elapsed_s = longer ? input.host_elapsed_s : input.elapsed_s;
  const double host_time = elapsed_s * input.host_cpus;
  if (host_time <= 0) return;
  const bool on_cpu = input.device.backend == "cpu";
  if (const auto steal = increase(before, input.after, "steal_time")) {
    const double certain = certain_share(*steal / host_time, elapsed_s);
    if (certain >= kStealNote) {
      found.push_back({"steal", fmt::format("the hypervisor took {:.1f} % of the CPU time", *steal / host_time * 100),
                       on_cpu && certain >= kStealDistrust});
    }
  }
  const auto busy = increase(before, input.after, "busy_time");
  const auto own = increase(before, input.after, "process_time");
  if (busy && own) {
    const double share = std::clamp((*busy - *own) / host_time, 0.0, 1.0);
    const double certain = certain_share(share, elapsed_s);
    if (certain >= kOtherLoadNote) {
      found.push_back({"other_load", fmt::format("other processes used {:.0f} % of the CPU time", share * 100),
                       on_cpu && certain >= kOtherLoadDistrust});
    }
  }
}

struct Waiting {
  double seconds = 0;
  std::int64_t times = 0;
};

/// Of the thread that waited longest for a CPU, beyond what waking up takes.
Waiting longest_wait(const DisturbanceInput& input) {
  std::map<std::int64_t, device::ThreadWait> before;
  for (const auto& thread : input.before.threads) before[thread.thread] = thread;
  Waiting longest;
  for (const auto& thread : input.after.threads) {
    // Zeros for one that began in between, also where it was given the number of one that had ended.
    const auto known = before.find(thread.thread);
    const bool began = known == before.end() || known->second.scheduled > thread.scheduled;
    const device::ThreadWait start = began ? device::ThreadWait{} : known->second;
    const auto times = thread.scheduled - start.scheduled;
    const double seconds = thread.waited_s - start.waited_s - static_cast<double>(times) * kWakeUp_s;
    if (seconds > longest.seconds) longest = {seconds, times};
  }
  return longest;
}

void judge_waiting(const DisturbanceInput& input, std::vector<Disturbance>& found) {
  const Waiting waiting = longest_wait(input);
  if (input.elapsed_s <= 0 || waiting.seconds < kWaitNote * input.elapsed_s) return;
  const double share = std::min(1.0, waiting.seconds / input.elapsed_s);
  const bool reaches_median =
      input.elapsed_s >= kShortestForWaits ||
      static_cast<double>(waiting.times) >= kSpoiledSamples * static_cast<double>(input.samples);
  const bool delays_work = input.device.backend == "cpu" || input.host_clock;
  found.push_back({"cpu_wait",
                   fmt::format("a thread of the measurement waited {:.0f} % of the time for a CPU", share * 100),
                   share >= kWaitDistrust && reaches_median && delays_work});
}

void judge_clock(const DisturbanceInput& input, std::string_view id, std::string_view name,
                 std::vector<Disturbance>& found) {
  // At its power cap a GPU moves its clock all the time; that is recorded as the cap, not as a disturbance.
  const bool capped = std::any_of(found.begin(), found.end(), [](const auto& item) { return item.id == kPowerCapId; });
  const auto before = value_of(input.before, id);
  const auto after = value_of(input.after, id);
  if (!before || !after || *before <= 0) return;
  const double change = *after / *before - 1;
  if (std::fabs(change) < kClockNote) return;
  found.push_back({"clock_change",
                   fmt::format("the {} clock went from {:.0f} to {:.0f} MHz ({:+.1f} %)", name, *before * 1e-6,
                               *after * 1e-6, change * 100),
                   std::fabs(change) >= kClockDistrust && !capped});
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
    if (reason == device::nvml::kPowerCapReason) found.push_back({kPowerCapId, "the GPU ran at its power cap", false});
  }
  if (const auto errors = increase(input.before, input.after, "ecc_uncorrected"); errors && *errors > 0) {
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

void HostHistory::note(std::int64_t time_ns, device::Conditions conditions) {
  const auto enough_ns = static_cast<std::int64_t>(kShortestForShares * 1e9);
  if (newer_ && time_ns - newer_->time_ns < enough_ns) return;
  older_ = std::move(newer_);
  newer_ = Moment{time_ns, std::move(conditions)};
}

const HostHistory::Moment* HostHistory::before(std::int64_t time_ns) const {
  const auto enough_ns = static_cast<std::int64_t>(kShortestForShares * 1e9);
  for (const auto* moment : {&newer_, &older_}) {
    if (*moment && time_ns - (*moment)->time_ns >= enough_ns) return &**moment;
  }
  return nullptr;
}

Environment judge_environment(const DisturbanceInput& input) {
  Environment environment;
  for (const auto& sensor : input.before.sensors) {
    environment.readings.push_back({sensor.id, sensor.unit, sensor.value, value_of(input.after, sensor.id)});
  }
  judge_host(input, environment.disturbances);
  judge_waiting(input, environment.disturbances);
  if (input.device.backend == "cpu") {
    judge_clock(input, "core_clock", "core", environment.disturbances);
  } else {
    judge_gpu(input, environment.disturbances);
    judge_clock(input, "sm_clock", "multiprocessor", environment.disturbances);
  }
  return environment;
}

}  // namespace warpmark::measure
