// Where a kernel that a kernel profiler measured stands under the GPU's peaks: what it computed and moved a second, and
// what the GPU could at the clocks of the measurement. Formulas as in Nsight Compute's roofline sections.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/recommendations/kernel_profiles.h"
#include "model/profile/kernel_profile.h"

namespace warpmark::analyze {

/// The costliest first.
[[nodiscard]] std::vector<KernelGroup> cards_of(const Evidence& evidence);

/// Single and double precision, and what tensor cores did with floating point numbers; a fused operation is two. Not
/// the half precision of other units: compilers load constants by it. Nothing if none of them was measured.
[[nodiscard]] std::optional<double> flops_per_second(const KernelProfile& kernel);
/// Between the device's memory and its caches.
[[nodiscard]] std::optional<double> dram_bytes_per_second(const KernelProfile& kernel);

struct KernelPeak {
  std::string name;  ///< "device memory", "FP32", "FP64", "tensor bf16"
  double limit = 0;  ///< B/s of the memory, else FLOP/s
  bool memory = false;
};

/// The memory, single precision, and of the other units those that the kernel used. At the clocks at which it ran.
[[nodiscard]] std::vector<KernelPeak> peaks_of(const KernelProfile& kernel);

}  // namespace warpmark::analyze
