// Dispatch of a descriptor's functions by the device's backend: the CPU implementations are here, the GPU ones in
// libwarpmark_cuda.so.
#pragma once

#include <memory>

#include "device/device.h"
#include "measure/workload.h"

namespace warpmark::workloads {

/// What the module offers for one workload; `id` is the workload's.
struct CudaImplementation {
  const char* id;
  device::Support (*supports)(const DeviceInfo& device, const Params& params);
  Result<std::unique_ptr<measure::Prepared>> (*prepare)(const measure::PrepareOptions& options);
};

/// CudaImplementation::prepare of a class that is made of the options and then creates what may fail.
template <typename OnGpu>
Result<std::unique_ptr<measure::Prepared>> prepare_created(const measure::PrepareOptions& options) {
  auto prepared = std::make_unique<OnGpu>(options);
  WM_TRY(prepared->create(options));
  return {std::move(prepared)};
}

/// For Workload::supports on a "cuda" device.
[[nodiscard]] device::Support supports_on_cuda(const char* id, const DeviceInfo& device, const Params& params);
/// For Workload::prepare on a "cuda" device.
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> prepare_on_cuda(const char* id,
                                                                         const measure::PrepareOptions& options);

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
