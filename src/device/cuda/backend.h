// The "cuda" backend of the executable: finds libwarpmark_cuda.so and forwards to it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"

namespace warpmark::device {

// The border between the executable, which links no GPU library, and libwarpmark_cuda.so. Both are built from the same
// tree; `abi` and `version` refuse a module of another build.

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

/// Whether its file is there; it is not loaded.
[[nodiscard]] bool has_cuda_module();

/// The module's one exported symbol.
extern "C" const CudaModule* warpmark_cuda_module();
inline constexpr const char* kCudaModuleSymbol = "warpmark_cuda_module";

extern const Backend kCudaBackend;

/// Where the module is looked for, in order: $WARPMARK_CUDA_MODULE alone if that is set; else beside the executable,
/// one folder above it (tests in a build folder), and in ../lib/warpmark (an installation). `executable` is its full
/// path.
[[nodiscard]] std::vector<std::filesystem::path> cuda_module_candidates(const std::filesystem::path& executable,
                                                                        const char* override_path);

/// Loads the first candidate that exists. Environment error naming every place if there is none, or the fault of the
/// one that could not be used. A loaded module stays loaded for the life of the process.
[[nodiscard]] Result<const CudaModule*> load_cuda_module(std::span<const std::filesystem::path> candidates,
                                                         void** handle = nullptr);

/// Another export of the module, for folders above this one. Environment error if there is no module, or no such name.
[[nodiscard]] Result<void*> cuda_module_symbol(const char* name);

/// Whether CUDA can work here. Pure; `module` is the outcome of load_cuda_module.
struct CudaParts {
  bool driver = false;               ///< libcuda.so.1 can be loaded
  bool gpu = false;                  ///< the kernel driver shows a GPU
  const Error* no_module = nullptr;  ///< why there is no module; null if there is one
};
[[nodiscard]] Support cuda_support(const CudaParts& parts);

}  // namespace warpmark::device
