// Quantities that are measured beside what was asked for: of a command that uses a GPU what it made of it, and its CPU
// time. They are shown, stored and compared, and decide nothing unless somebody declares them as metrics.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace warpmark {

inline constexpr std::string_view kProcessorTime = "processor_time";    ///< s, user and system time of all threads
inline constexpr std::string_view kGpuUtilization = "gpu_utilization";  ///< ratio, mean over time and the GPUs used
inline constexpr std::string_view kGpuPeakMemory = "gpu_peak_memory";   ///< B, of the fullest GPU, above what was there
inline constexpr std::string_view kGpuEnergy = "gpu_energy";            ///< J, of the GPUs used together
inline constexpr std::string_view kGpuPower = "gpu_power";              ///< W, mean, of the GPUs used together
inline constexpr std::string_view kGpuClock = "gpu_clock";              ///< Hz, mean SM clock while kernels ran

inline constexpr std::array kGpuFigures{kGpuUtilization, kGpuPeakMemory, kGpuEnergy, kGpuPower, kGpuClock};

[[nodiscard]] constexpr bool is_gpu_figure(std::string_view metric) {
  return std::find(kGpuFigures.begin(), kGpuFigures.end(), metric) != kGpuFigures.end();
}
[[nodiscard]] constexpr bool is_auxiliary(std::string_view metric) {
  const bool of_hyperfine = metric == "user_time" || metric == "system_time";
  return metric == kProcessorTime || of_hyperfine || is_gpu_figure(metric);
}

}  // namespace warpmark
