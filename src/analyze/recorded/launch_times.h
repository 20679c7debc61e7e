// How long launching takes (H100, driver 580).
#pragma once

#include <cstdint>

namespace warpmark::analyze {

inline constexpr std::int64_t kPlainLaunchNs = 6'000;       ///< of a launch call that waits for nothing, recorded ...
inline constexpr std::int64_t kUnrecordedLaunchNs = 2'500;  ///< ... and not
inline constexpr std::int64_t kWaitingLaunchNs = 15'000;    ///< a call above this waited for a place in the queue
inline constexpr std::int64_t kLaunchLatencyNs = 4'000;     ///< from the call to the first cycle, on an idle GPU
inline constexpr std::int64_t kWakeUpNs = 4'000;            ///< from the end of the work to the host's next instruction

}  // namespace warpmark::analyze
