// Dispatch of a descriptor's functions by the device's backend: the CPU implementations are here, the GPU ones in the
// CUDA module.
#pragma once

#include <memory>

#include "device/device.h"
#include "measure/workload.h"
#include "workloads/cuda_bridge.h"

namespace warpmark::workloads {

using CpuSupports = device::Support (*)(const DeviceInfo& device, const Params& params);
using CpuPrepare = Result<std::unique_ptr<measure::Prepared>> (*)(const measure::PrepareOptions& options);

/// Workload::supports for a workload whose CPU implementation says kCpuSupports.
template <CpuSupports kCpuSupports>
device::Support supports_by_backend(const measure::Workload& self, const DeviceInfo& device, const Params& params) {
  return device.backend == "cuda" ? supports_on_cuda(self.id, device, params) : kCpuSupports(device, params);
}

/// Workload::prepare for a workload whose CPU implementation is made by kCpuPrepare.
template <CpuPrepare kCpuPrepare>
Result<std::unique_ptr<measure::Prepared>> prepare_by_backend(const measure::Workload& self,
                                                              const measure::PrepareOptions& options) {
  return options.device.info().backend == "cuda" ? prepare_on_cuda(self.id, options) : kCpuPrepare(options);
}

/// CpuSupports of what every CPU can do.
inline device::Support supports_every_cpu(const DeviceInfo& /*device*/, const Params& /*params*/) {
  return device::Support::yes();
}

}  // namespace warpmark::workloads
