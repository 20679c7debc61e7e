// How a workload's descriptor reaches its GPU implementation in libwarpmark_cuda.so.
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

/// For Workload::supports on a "cuda" device.
[[nodiscard]] device::Support supports_on_cuda(const char* id, const DeviceInfo& device, const Params& params);
/// For Workload::prepare on a "cuda" device.
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> prepare_on_cuda(const char* id,
                                                                         const measure::PrepareOptions& options);

}  // namespace warpmark::workloads
