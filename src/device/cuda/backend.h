// The "cuda" backend of the executable: finds libwarpmark_cuda.so and forwards to it.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "device/cuda/module_api.h"
#include "device/device.h"

namespace warpmark::device {

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
