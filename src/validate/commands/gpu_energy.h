// Energy of the NVIDIA GPUs in CUDA_VISIBLE_DEVICES while something runs, by their own counters (NVML's total energy
// consumption; see measure/energy.h why power samples are not integrated).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/gpu_watch.h"

namespace warpmark::validate {

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
