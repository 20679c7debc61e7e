#include "measure/gpu_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "model/auxiliary.h"
#include "stats/summary.h"

namespace warpmark::measure {
namespace {

// The least that a context of CUDA takes; what others take and give back meanwhile is mostly less.
constexpr std::int64_t kContextBytes = 64LL << 20;
// The driver's own sample period: earlier than that after the start its figure is about what was before.
constexpr double kFirstPoll_s = 0.25;

std::optional<double> mean_of_known(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return stats::mean_of(values);
}

double now_s() { return static_cast<double>(monotonic_ns()) * 1e-9; }

/// Between two readings linearly; nothing before the first and after the last.
std::optional<double> at_time(const std::vector<std::pair<double, double>>& readings, double time_s) {
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const auto& [from_s, from] = readings[i - 1];
    const auto& [to_s, to] = readings[i];
    if (time_s < from_s || time_s > to_s) continue;
    return to_s > from_s ? from + (to - from) * (time_s - from_s) / (to_s - from_s) : from;
  }
  return std::nullopt;
}

void add_value(std::vector<Metric>& metrics, std::string_view id, const char* unit, Better better,
               std::optional<double> value) {
  if (!value) return;
  metrics.push_back(stats::sampled_metric(std::string(id), unit, better, {*value}));
}

}  // namespace

/// An invalid entry hides itself and what follows, as the CUDA programming guide says of the variable.
std::vector<std::string> visible_gpus(const std::vector<std::string>& uuids, const std::string& visible) {
  std::vector<std::string> seen;
  for (const auto& entry : split(visible, ',')) {
    const auto name = std::string(trim(entry));
    const auto number = parse_integer(name);
    const auto index = number.ok() ? *number : -1;
    const auto by_uuid = std::ranges::find_if(uuids, [&](const auto& one) { return one.starts_with(name); });
    if (name.starts_with("GPU-") && by_uuid != uuids.end()) {
      seen.push_back(*by_uuid);
    } else if (index >= 0 && static_cast<std::size_t>(index) < uuids.size()) {
      seen.push_back(uuids[static_cast<std::size_t>(index)]);
    } else {
      break;
    }
  }
  return seen;
}

GpuProbe nvml_probe() {
  return {.list =
              [] {
                std::vector<std::string> uuids;
                if (!device::nvml::available().available) return uuids;
                const auto gpus = device::nvml::gpu_list();
                if (!gpus.ok()) return uuids;
                for (const auto& gpu : *gpus) uuids.push_back(gpu.uuid);
                const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
                return visible == nullptr ? uuids : visible_gpus(uuids, visible);
              },
          .activity = [](const std::string& uuid) { return device::nvml::activity_of(uuid); },
          .energy_j = [](const std::string& uuid) -> std::optional<double> {
            const auto now = device::nvml::conditions_of(uuid);
            if (!now.ok()) return std::nullopt;
            for (const auto& sensor : now->sensors) {
              if (sensor.id == "energy") return sensor.value;
            }
            return std::nullopt;
          }};
}

GpuWatch::GpuWatch(GpuProbe probe, double interval_s, bool energy_polls)
    : probe_(std::move(probe)), interval_s_(interval_s), energy_polls_(energy_polls) {
  for (auto& uuid : probe_.list()) {
    gpus_.emplace_back();
    gpus_.back().uuid = std::move(uuid);
  }
}

GpuWatch::~GpuWatch() {
  if (thread_.joinable()) (void)end(0);
}

void GpuWatch::begin() {
  WM_CHECK(!thread_.joinable());
  if (!available()) return;
  polls_ = 0;
  over_ = false;
  for (auto& gpu : gpus_) {
    gpu = Gpu{.uuid = std::move(gpu.uuid)};
    if (const auto now = probe_.activity(gpu.uuid); now.ok()) {
      for (const auto& process : now->processes) gpu.processes_before.push_back(process.id);
      gpu.memory_before = now->memory_used_bytes.value_or(0);
    }
    gpu.most_memory = gpu.memory_before;
    gpu.energy_before = probe_.energy_j(gpu.uuid);
  }
  read_counters();
  thread_ = std::thread([this] { run(); });
}

void GpuWatch::read_counters() {
  if (!energy_polls_) return;
  for (auto& gpu : gpus_) {
    const auto now = probe_.energy_j(gpu.uuid);
    if (now) gpu.counter.emplace_back(now_s(), *now);
  }
}

void GpuWatch::run() {
  std::unique_lock lock(mutex_);
  double wait_s = std::min(kFirstPoll_s, interval_s_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(wait_s), [this] { return over_; })) {
    lock.unlock();
    probe();
    lock.lock();
    wait_s = interval_s_;
  }
}

void GpuWatch::probe() {
  ++polls_;
  read_counters();
  for (auto& gpu : gpus_) {
    const auto now = probe_.activity(gpu.uuid);
    if (!now.ok()) continue;
    for (const auto& process : now->processes) {
      const auto& before = gpu.processes_before;
      gpu.process_seen = gpu.process_seen || std::find(before.begin(), before.end(), process.id) == before.end();
    }
    gpu.most_memory = std::max(gpu.most_memory, now->memory_used_bytes.value_or(0));
    if (now->utilization) {
      gpu.utilization.push_back(*now->utilization);
      gpu.busy.emplace_back(now_s(), *now->utilization);
    }
    if (now->power_w) gpu.power.push_back(*now->power_w);
    if (now->sm_clock_hz && now->utilization.value_or(0) > 0) gpu.clocks.push_back(*now->sm_clock_hz);
  }
}

bool GpuWatch::used(const Gpu& gpu) { return gpu.process_seen || gpu.most_memory - gpu.memory_before >= kContextBytes; }

GpuUse GpuWatch::end(double elapsed_s) {
  if (!thread_.joinable()) return {};
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  thread_.join();
  read_counters();
  GpuUse use{.polls = polls_};
  std::vector<double> utilization, clocks;
  double energy_j = 0, power_w = 0;
  bool all_energy = true, all_power = true;
  for (const auto& gpu : gpus_) {
    if (!used(gpu)) continue;
    ++use.gpus;
    utilization.insert(utilization.end(), gpu.utilization.begin(), gpu.utilization.end());
    clocks.insert(clocks.end(), gpu.clocks.begin(), gpu.clocks.end());
    use.peak_memory = std::max(use.peak_memory.value_or(0), static_cast<double>(gpu.most_memory - gpu.memory_before));
    const auto energy = probe_.energy_j(gpu.uuid);
    all_energy = all_energy && energy && gpu.energy_before && *energy >= *gpu.energy_before;
    if (all_energy) energy_j += *energy - *gpu.energy_before;
    const auto mean_power = mean_of_known(gpu.power);
    all_power = all_power && mean_power;
    power_w += mean_power.value_or(0);
  }
  if (use.gpus == 0) return use;
  use.utilization = mean_of_known(utilization);
  use.clock_hz = mean_of_known(clocks);
  if (all_energy) use.energy_j = energy_j;
  if (all_energy && elapsed_s > 0) {
    use.power_w = energy_j / elapsed_s;
  } else if (all_power) {
    use.power_w = power_w;
  }
  return use;
}

GpuPart GpuWatch::within(double begin_s, double end_s) const {
  GpuPart part;
  std::vector<double> busy;
  double energy_j = 0;
  bool all = true, any = false;
  for (const auto& gpu : gpus_) {
    if (!used(gpu)) continue;
    any = true;
    for (const auto& [at_s, value] : gpu.busy) {
      // The driver's figure is of the time before the look.
      if (at_s >= begin_s + kFirstPoll_s && at_s <= end_s) busy.push_back(value);
    }
    const auto from = at_time(gpu.counter, begin_s), to = at_time(gpu.counter, end_s);
    all = all && from && to && *to >= *from;
    if (all) energy_j += *to - *from;
  }
  part.utilization = mean_of_known(busy);
  if (any && all) part.energy_j = energy_j;
  return part;
}

std::vector<Metric> metrics_of(const GpuUse& use) {
  std::vector<Metric> metrics;
  add_value(metrics, kGpuUtilization, "ratio", Better::neither, use.utilization);
  add_value(metrics, kGpuPeakMemory, "B", Better::lower, use.peak_memory);
  add_value(metrics, kGpuEnergy, "J", Better::lower, use.energy_j);
  add_value(metrics, kGpuPower, "W", Better::neither, use.power_w);
  add_value(metrics, kGpuClock, "Hz", Better::neither, use.clock_hz);
  return metrics;
}

}  // namespace warpmark::measure
