// Identical GPUs of a machine belong together: what is measured on each of them is one row, with the spread.
#pragma once

#include <string>
#include <vector>

#include "model/run.h"

namespace warpmark::report {

struct DeviceGroup {
  std::vector<std::string> ids;  ///< in the machine's order; one where no other device is like it
  std::string name;              ///< "NVIDIA H100 80GB HBM3"
  [[nodiscard]] bool contains(const std::string& device) const;
  /// "cuda:0" or "cuda:0 to cuda:3".
  [[nodiscard]] std::string label() const;
};

/// Devices of one backend, name and size; processors are never grouped.
[[nodiscard]] std::vector<DeviceGroup> device_groups(const Machine& machine);
/// And each device of a run that the machine does not list.
[[nodiscard]] std::vector<DeviceGroup> device_groups(const Session& session);

/// A case on all devices of a group: runs that differ by the device alone, in the order of the devices. At least two.
[[nodiscard]] std::vector<std::vector<const Run*>> cases_of(const Session& session, const DeviceGroup& group);

/// (slowest - fastest) / median of the medians, and the device that is slower than the others by more than 5 % and five
/// times their deviation; empty if none is.
struct DeviceSpread {
  double median = 0;
  double spread = 0;
  std::string outlier;
  double outlier_change = 0;  ///< ratio to the median less 1
};
[[nodiscard]] DeviceSpread spread_of(const std::vector<const Run*>& runs);

}  // namespace warpmark::report
