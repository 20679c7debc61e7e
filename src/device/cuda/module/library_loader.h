// NVIDIA's libraries, loaded at run time so that the module starts on machines without them and says which is missing.
// Looked for, in this order: the loader's own path, $WARPMARK_LIBRARY_PATH, CUDA toolkits under /usr/local, and the
// nvidia wheels (site-packages/nvidia/*/lib) of the Python environments in use.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::device {

enum class LibraryId { cublaslt, cudnn, nccl, cupti };

/// A loaded library; stays loaded until the process ends, as NVIDIA's libraries do not support being unloaded.
class Library {
 public:
  Library(void* handle, std::string path, std::string version)
      : handle_(handle), path_(std::move(path)), version_(std::move(version)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& version() const { return version_; }  ///< "13.1.0"

  /// The address of an exported name, or nullptr.
  [[nodiscard]] void* find(const char* name) const;

  /// Sets `function` to the named export. Unsupported error naming library, version and symbol if it has none.
  template <typename Function>
  [[nodiscard]] Status symbol(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(find(name));
    return function != nullptr ? Status{} : missing_symbol(name);
  }

 private:
  [[nodiscard]] Status missing_symbol(const char* name) const;

  void* handle_;
  std::string path_;
  std::string version_;
};

/// Loads the library on first use, together with those it needs. Environment error naming the file names tried and the
/// directories searched. Any thread.
[[nodiscard]] Result<const Library*> load_library(LibraryId id);

/// One line a library: {"cuBLASLt", "13.1.0 /path/libcublasLt.so.13"} or {"cuDNN", "not found: ..."}.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_report();

/// The directories searched after the loader's own path, in order; those that do not exist are left out.
[[nodiscard]] std::vector<std::string> library_directories();

}  // namespace warpmark::device
