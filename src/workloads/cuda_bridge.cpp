#include "workloads/cuda_bridge.h"

#include "device/cuda/backend.h"

namespace warpmark::workloads {
namespace {

Result<const CudaImplementation*> implementation_of(const char* id) {
  WM_ASSIGN(const auto* module, device::cuda_module());
  const auto* implementation = static_cast<const CudaImplementation*>(module->workload(id));
  if (implementation == nullptr) return unsupported_error(std::string(id) + " has no GPU implementation");
  return implementation;
}

}  // namespace

device::Support supports_on_cuda(const char* id, const DeviceInfo& device, const Params& params) {
  const auto implementation = implementation_of(id);
  if (!implementation.ok()) return device::Support::no(implementation.error().what, implementation.error().hint);
  return (*implementation)->supports(device, params);
}

Result<std::unique_ptr<measure::Prepared>> prepare_on_cuda(const char* id, const measure::PrepareOptions& options) {
  WM_ASSIGN(const auto* implementation, implementation_of(id));
  return implementation->prepare(options);
}

}  // namespace warpmark::workloads
