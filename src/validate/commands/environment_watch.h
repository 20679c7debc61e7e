// What the machine did while a sample was taken: load of others, time stolen by the hypervisor, clocks and throttling
// of GPUs. Reads /proc and NVML before and after; the numbers become the Environment of the Run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "model/run.h"

namespace warpmark::validate {

class EnvironmentWatch {
 public:
  /// Finds the GPUs; none and no driver are fine.
  EnvironmentWatch();

  /// Call right before the sample.
  void before();
  /// Call right after it. `cpu_s` is the CPU time of what was measured: the rest of the machine's busy time is others'.
  /// Readings: "other_load" and "steal" as shares of all CPUs (absent for samples under 0.2 s, which the kernel's ticks
  /// cannot resolve), "cpu_wait" (share of the time in which some task of the machine waited for a CPU, by the kernel's
  /// pressure stall information), "cpus_used" (CPU time over time), "core_clock" Hz of the CPU, and "<gpu>.sm_clock"
  /// Hz, "<gpu>.temperature". Disturbances: "throttle" with the GPU and its reason, "power_cap" with the GPU.
  [[nodiscard]] Environment after(double elapsed_s, double cpu_s);

 private:
  std::vector<std::string> gpus_;  ///< NVML's identifiers
  device::Conditions host_before_;
};

/// Readings of the host alone, from its conditions before and after; pure.
[[nodiscard]] std::vector<Reading> host_readings(const device::Conditions& before, const device::Conditions& after,
                                                 double elapsed_s, double cpu_s, int host_cpus);

}  // namespace warpmark::validate
