// Was the machine quiet? Compares the environment before and after the timed launches and names what may have changed
// the numbers. Pure; thresholds are in the .cpp with their reasons.
#pragma once

#include "device/device.h"
#include "model/machine.h"
#include "model/run.h"

namespace warpmark::measure {

struct DisturbanceInput {
  const DeviceInfo& device;
  const device::Conditions& before;  ///< after the warm-up, so that clocks have risen
  const device::Conditions& after;
  double elapsed_s = 0;  ///< wall time between the two
  int host_cpus = 1;     ///< hardware threads of the machine, for shares of the host's time
};

[[nodiscard]] Environment judge_environment(const DisturbanceInput& input);

}  // namespace warpmark::measure
