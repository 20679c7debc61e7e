// Caps on the power of GPUs, for as long as something is measured. Whatever happens to this process, the limits that
// were found are put back: by this object when it goes, and else by a restorer process that waits for our end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/nvml/counters.h"
#include "measure/gpu_watch.h"

namespace warpmark::validate {

class PowerCap {
 public:
  /// Reads the limits, starts the restorer (`restorer_words`, behind which "GPU=watts" are put; it gets a pipe as its
  /// standard input and runs restore_when_told) and sees whether limits may be set, by setting those that are.
  [[nodiscard]] static Result<PowerCap> take(std::vector<std::string> uuids, std::vector<std::string> restorer_words);
  ~PowerCap();
  PowerCap(PowerCap&& other) noexcept;
  PowerCap& operator=(PowerCap&&) = delete;

  [[nodiscard]] const std::vector<device::nvml::PowerLimits>& found() const { return found_; }
  /// On all of them.
  Status set(double watts);
  /// What was found, on all of them; and sees that it is so.
  Status restore();

 private:
  PowerCap() = default;
  std::vector<std::string> uuids_;
  std::vector<device::nvml::PowerLimits> found_;
  int restorer_pipe_ = -1;
  int restorer_ = 0;
  bool changed_ = false;
};

/// The restorer: waits for the end of standard input, and sets these ("GPU-...=700") unless it was told "done". Ignores
/// what ends others.
Status restore_on_command(const std::vector<std::string>& limits);

class GpuEnergy {
 public:
  /// Finds the GPUs that have a counter; none and no driver are fine.
  GpuEnergy();
  [[nodiscard]] bool available() const { return !gpus_.empty(); }
  /// Joules since the drivers were loaded, of the first `count` together; nothing where one cannot be read.
  [[nodiscard]] std::optional<double> joules(std::size_t count = SIZE_MAX) const;

 private:
  measure::GpuProbe probe_;
  std::vector<std::string> gpus_;  ///< NVML's identifiers
};

}  // namespace warpmark::validate
