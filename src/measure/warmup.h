// Warm-up until settled: the median of the last window of samples no longer moves against the window before, and the
// device's clock no longer rises. Capped, and reported with its reason.
//
// Fixed warm-up counts are wrong in both directions: GPU clocks may need hundreds of milliseconds to settle, page
// faults and code generation are over after one launch. Barrett et al., "Virtual Machine Warmup Blows Hot and Cold"
// (OOPSLA 2017), show that some programs never settle; hence the cap, and `settled` in the result.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "model/run.h"

namespace warpmark::measure {

struct WarmupOptions {
  double cap_s = 0.5;       ///< stop unsettled after this long
  double tolerance = 0.01;  ///< the medians of two windows may differ by this ratio
  std::int64_t most_launches = 100'000;
};

struct WarmupResult {
  Warmup warmup;
  double seconds_per_launch = 0;  ///< estimate from the last window
  std::size_t next_set = 0;       ///< where rotation goes on
};

/// Times one launch at a time through `sequence` (made with launches == 1) until it settles.
[[nodiscard]] Result<WarmupResult> warm_up(device::Device& device, device::TimedSequence& sequence, std::size_t sets,
                                           const WarmupOptions& options);

/// Whether the medians of the last two windows of `samples` agree; pure, for tests. `window` samples each.
struct Settling {
  bool settled = false;
  double moved = 0;  ///< |median of the last window / median of the one before - 1|
};
[[nodiscard]] Settling settling(const std::vector<double>& samples, std::size_t window, double tolerance);

}  // namespace warpmark::measure
