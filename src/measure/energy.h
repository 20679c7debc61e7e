// Energy of a launch from the device's own cumulative counter (NVML's total energy consumption, in millijoules since
// the driver was loaded). Integrating power samples instead is known to mislead (Yang, Adamek, Armour, "Part-time Power
// Measurements: nvidia-smi's Lack of Attention", SC 2024): hence counter differences over a long enough stretch.
#pragma once

#include <optional>

#include "measure/workload.h"

namespace warpmark::measure {

/// Joules per launch over at least `seconds` of back-to-back launches, idle power included. No value where the device
/// has no such counter.
[[nodiscard]] Result<std::optional<double>> energy_per_launch(device::Device& device, Prepared& prepared,
                                                              std::size_t sets, double seconds);

}  // namespace warpmark::measure
