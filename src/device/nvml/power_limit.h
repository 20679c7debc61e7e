// The power that a GPU may draw, and changing that: the one setting of a GPU that warpmark ever changes, where it was
// asked to (`warpmark scale --power-cap-sweep`).
#pragma once

#include <string>

#include "base/result.h"

namespace warpmark::device::nvml {

struct PowerLimits {
  double now_w = 0;
  double default_w = 0;
  double least_w = 0;
  double most_w = 0;
};

/// Environment error where the driver does not tell.
[[nodiscard]] Result<PowerLimits> power_limits_of(const std::string& uuid);

/// Environment error where it is not permitted, as for all but root.
[[nodiscard]] Status set_power_limit(const std::string& uuid, double watts);

}  // namespace warpmark::device::nvml
