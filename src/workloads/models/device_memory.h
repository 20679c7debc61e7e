// The memory of a device as its driver sees it while a worker uses it, beside what the framework counts itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/device.h"
#include "model/run.h"

namespace warpmark::workloads {

/// A device's sensor; none where it cannot be read.
[[nodiscard]] std::optional<double> read_sensor(device::Device& device, std::string_view id);

/// Looks from the thread that waits for the worker, and only where nothing is timed: a question to the driver may hold
/// up the launches of others. One thread.
class DeviceMemory {
 public:
  /// Before anything of the worker is on the device.
  explicit DeviceMemory(device::Device& device);
  /// Reads what is in use, unless it did within the last 50 ms. Nothing where the device has no such sensor.
  void look();
  /// Reads it in any case; it is what stays in use.
  void look_last();
  /// memory.baseline, memory.device (the most of all looks), memory.utilization (that of all the device has) and
  /// memory.final, of what was read.
  void add_to(Run& run) const;

 private:
  device::Device& device_;
  std::optional<double> baseline_, most_, last_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace warpmark::workloads
