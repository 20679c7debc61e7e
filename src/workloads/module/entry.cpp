// The module's one exported symbol.
#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/library_loader.h"
#include "device/cuda/module_api.h"
#include "workloads/module/catalog.h"

namespace warpmark::device {
namespace {

const void* workload(const char* id) { return find_in(workloads::cuda_implementations(), id); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const CudaModule* warpmark_cuda_module() {
  static const CudaModule module{.abi = kCudaModuleAbi,
                                 .available = cuda_available,
                                 .devices = cuda_devices,
                                 .open = open_cuda_device,
                                 .libraries = library_report,
                                 .workload = workload};
  return &module;
}

}  // namespace warpmark::device
