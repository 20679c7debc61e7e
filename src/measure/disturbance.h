// Was the machine quiet? Compares the environment before and after the timed launches and names what may have changed
// the numbers. Pure; thresholds are in the .cpp with their reasons.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "model/machine.h"
#include "model/run.h"

namespace warpmark::measure {

/// Of the Disturbance that a GPU ran at its power cap. The cap is part of the machine: it is noted, and spoils nothing.
inline constexpr const char* kPowerCapId = "power_cap";

/// The host's counters some moments ago: what others do in a round of milliseconds is told by a longer time that ends
/// with it, as the kernel counts in ticks of 10 ms. Of one process.
class HostHistory {
 public:
  struct Moment {
    std::int64_t time_ns = 0;  ///< monotonic_ns()
    device::Conditions conditions;
  };
  void note(std::int64_t time_ns, device::Conditions conditions);
  /// The latest moment that is long enough before `time_ns` for shares; null if there is none.
  [[nodiscard]] const Moment* before(std::int64_t time_ns) const;

 private:
  std::optional<Moment> newer_, older_;
};

struct DisturbanceInput {
  const DeviceInfo& device;
  const device::Conditions& before;  ///< after the warm-up, so that clocks have risen
  const device::Conditions& after;
  double elapsed_s = 0;  ///< wall time between the two
  int host_cpus = 1;     ///< hardware threads of the machine, for shares of the host's time
  std::int64_t samples = 0;
  bool host_clock = false;  ///< a GPU's work timed on the host, so that what delays the host counts
  const device::Conditions* host_before = nullptr;  ///< an earlier `before`, for the shares of the host's time
  double host_elapsed_s = 0;                        ///< wall time since that
};

[[nodiscard]] Environment judge_environment(const DisturbanceInput& input);

}  // namespace warpmark::measure
