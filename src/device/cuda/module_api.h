// The border between the executable, which links no GPU library, and libwarpmark_cuda.so. Both are built from the same
// tree; `abi` and `version` refuse a module of another build.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace warpmark::device {

inline constexpr int kCudaModuleAbi = 1;

struct CudaModule {
  int abi;
  Support (*available)();  ///< is there a driver and a GPU?
  Result<std::vector<DeviceInfo>> (*devices)();
  Result<std::unique_ptr<Device>> (*open)(int index);
  /// Libraries the module looks for at run time, and whether each was found: {"cuBLASLt", "13.1.0 /path"} or
  /// {"cuDNN", "not found: ..."}.
  std::vector<std::pair<std::string, std::string>> (*libraries)();
  /// GPU implementation of the workload with this id (a workloads::CudaImplementation), or nullptr.
  const void* (*workload)(const char* id);
};

/// The loaded module. Environment error saying where it was looked for, if there is none. Loads it once.
[[nodiscard]] Result<const CudaModule*> cuda_module();

/// The module's one exported symbol.
extern "C" const CudaModule* warpmark_cuda_module();
inline constexpr const char* kCudaModuleSymbol = "warpmark_cuda_module";

}  // namespace warpmark::device
