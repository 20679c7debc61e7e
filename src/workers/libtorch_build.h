// The worker without Python (src/workers/libtorch), compiled once against the LibTorch of somebody's PyTorch.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace warpmark::workers {

/// The executable. Headers and libraries are those that `python` itself uses; the compiler is $CXX, else c++. Kept in
/// $XDG_CACHE_HOME/warpmark, else ~/.cache/warpmark, under the hash of all that it is made of. Unsupported error
/// without PyTorch, its headers or a compiler, with the compiler's first error; environment error where nothing can be
/// written.
[[nodiscard]] Result<std::filesystem::path> build_libtorch_worker(const std::string& python,
                                                                  const std::atomic<bool>* interrupted);

}  // namespace warpmark::workers
