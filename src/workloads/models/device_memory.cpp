#include "workloads/models/device_memory.h"

#include <algorithm>

#include "base/clock.h"
#include "stats/sampled_metric.h"

namespace warpmark::workloads {
namespace {

constexpr const char* kSensor = "memory_used";
constexpr std::int64_t kBetweenLooks_ns = 50'000'000;

}  // namespace

std::optional<double> read_sensor(device::Device& device, std::string_view id) {
  const auto conditions = device.conditions();
  if (!conditions.ok()) return std::nullopt;
  for (const auto& read : conditions->sensors) {
    if (read.id == id) return read.value;
  }
  return std::nullopt;
}

DeviceMemory::DeviceMemory(device::Device& device) : device_(device), baseline_(read_sensor(device, kSensor)) {}

void DeviceMemory::look() {
  if (!baseline_ || monotonic_ns() - looked_ns_ < kBetweenLooks_ns) return;
  look_last();
}

void DeviceMemory::look_last() {
  if (!baseline_) return;
  if (const auto now = read_sensor(device_, kSensor)) {
    last_ = now;
    most_ = std::max(most_.value_or(0), *now);
  }
  looked_ns_ = monotonic_ns();
}

void DeviceMemory::add_to(Run& run) const {
  const auto add = [&](const char* id, const std::optional<double>& bytes) {
    if (bytes) run.metrics.push_back(stats::sampled_metric(id, "B", Better::lower, {*bytes}));
  };
  add("memory.baseline", baseline_);
  add("memory.device", most_);
  add("memory.final", last_);
  const auto all = static_cast<double>(device_.info().memory_bytes);
  if (most_ && all > 0)
    run.metrics.push_back(stats::sampled_metric("memory.utilization", "ratio", Better::neither, {*most_ / all}));
}

}  // namespace warpmark::workloads
