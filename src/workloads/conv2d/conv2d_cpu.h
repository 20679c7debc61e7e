// Convolution on the CPU by oneDNN.
#pragma once

#include <cstddef>

#include "device/device.h"
#include "measure/workload.h"

namespace warpmark::workloads {

/// Arrays of a set: the input (or its gradient), the weights (or theirs), the output (or its gradient).
enum ConvArray : std::size_t { kConvInput, kConvWeights, kConvOutput };

[[nodiscard]] device::Support conv2d_supports_cpu(const DeviceInfo& device, const Params& params);
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> conv2d_prepare_cpu(const measure::PrepareOptions& options);

}  // namespace warpmark::workloads
