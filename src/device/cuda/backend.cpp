#include "device/cuda/backend.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleFile = "libwarpmark_cuda.so";

/// The driver is part of the machine, not of warpmark: only whether the loader finds it is asked.
bool driver_present() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  dlclose(driver);
  return true;
}

/// The kernel driver makes a node per GPU (nvidia0, ...), WSL's one node for all.
bool gpu_present() {
  std::error_code ignored;
  if (fs::exists("/dev/dxg", ignored)) return true;
  for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
    const auto name = entry.path().filename().string();
    if (name.size() > 6 && name.starts_with("nvidia") && is_digit(name[6])) return true;
  }
  return false;
}

Support check_available() {
  CudaParts parts;
  parts.driver = driver_present();
  parts.gpu = gpu_present();
  // Without a driver or GPU the module is not loaded: that keeps this cheap where there is nothing to use.
  if (!parts.driver || !parts.gpu) return cuda_support(parts);
  const auto module = cuda_module();
  if (!module.ok()) {
    parts.no_module = &module.error();
    return cuda_support(parts);
  }
  return (*module)->available();
}

Support cuda_available() {
  static const Support support = check_available();  // neither drivers nor modules come and go while we run
  return support;
}

Result<std::vector<DeviceInfo>> cuda_devices() {
  WM_ASSIGN(const auto* module, cuda_module());
  return module->devices();
}

Result<std::unique_ptr<Device>> open_cuda(int index) {
  WM_ASSIGN(const auto* module, cuda_module());
  return module->open(index);
}

Result<const CudaModule*> load(const fs::path& path, void** handle) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return environment_error("the CUDA module " + path.string() + " cannot be loaded: " + (why ? why : "unknown error"),
                             "install or build warpmark again");
  }
  const auto entry = reinterpret_cast<decltype(&warpmark_cuda_module)>(dlsym(library, kCudaModuleSymbol));
  const CudaModule* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->abi != kCudaModuleAbi) {
    const std::string found = module == nullptr ? "none" : std::to_string(module->abi);
    dlclose(library);
    return environment_error("the CUDA module " + path.string() + " has interface version " + found + ", " +
                                 std::to_string(kCudaModuleAbi) + " is needed",
                             "use the module that was built with this executable");
  }
  if (handle != nullptr) *handle = library;
  return module;
}

/// Near the library that this code is in, which other programs load (libwarpmark.so in lib/libwarpmark, the module in
/// lib/warpmark).
std::vector<fs::path> candidates_next_to_library() {
  Dl_info info{};
  if (dladdr(static_cast<const void*>(&kCudaBackend), &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path library = info.dli_fname;
  if (!library.is_absolute()) return {};  // a relative path may mean another file by now
  const auto folder = library.parent_path();
  return {folder.parent_path() / "warpmark" / kModuleFile, folder / kModuleFile};
}

struct LoadedModule {
  Result<const CudaModule*> module = internal_error("the CUDA module is not loaded");
  void* handle = nullptr;
};

std::vector<fs::path> places_of_module() {
  std::error_code ignored;
  const char* named = std::getenv("WARPMARK_CUDA_MODULE");
  auto places = cuda_module_candidates(fs::read_symlink("/proc/self/exe", ignored), named);
  if (named == nullptr || *named == '\0') {
    for (auto& path : candidates_next_to_library()) places.push_back(std::move(path));
  }
  return places;
}

const LoadedModule& loaded_module() {
  static const LoadedModule loaded = [] {
    LoadedModule made;
    made.module = load_cuda_module(places_of_module(), &made.handle);
    return made;
  }();
  return loaded;
}

}  // namespace

const Backend kCudaBackend{
    .id = "cuda",
    .summary = "NVIDIA GPUs",
    .available = cuda_available,
    .devices = cuda_devices,
    .open = open_cuda,
};

std::vector<fs::path> cuda_module_candidates(const fs::path& executable, const char* override_path) {
  if (override_path != nullptr && *override_path != '\0') return {override_path};
  const auto folder = executable.parent_path();
  return {folder / kModuleFile, folder.parent_path() / kModuleFile,
          folder.parent_path() / "lib" / "warpmark" / kModuleFile};
}

Result<const CudaModule*> load_cuda_module(std::span<const fs::path> candidates, void** handle) {
  std::string probed;
  for (const auto& path : candidates) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return load(path, handle);
    probed += (probed.empty() ? "" : ", ") + path.string();
  }
  return environment_error("the CUDA module " + std::string(kModuleFile) + " was not found; looked for " + probed,
                           "build where nvcc is installed, or name the file in WARPMARK_CUDA_MODULE");
}

bool has_cuda_module() {
  std::error_code ignored;
  return std::ranges::any_of(places_of_module(), [&](const fs::path& path) { return fs::exists(path, ignored); });
}

Result<const CudaModule*> cuda_module() { return loaded_module().module; }

Result<void*> cuda_module_symbol(const char* name) {
  const auto& loaded = loaded_module();
  if (!loaded.module.ok()) return loaded.module.error();
  void* symbol = dlsym(loaded.handle, name);
  if (symbol != nullptr) return symbol;
  return environment_error(std::string("the CUDA module has no ") + name,
                           "use the module that was built with this executable");
}

Support cuda_support(const CudaParts& parts) {
  if (!parts.driver) {
    return Support::no("no NVIDIA driver (libcuda.so.1 was not found)",
                       parts.gpu ? "there is an NVIDIA GPU: install its driver, or start the container with --gpus all"
                                 : "on a machine with an NVIDIA GPU, install the driver");
  }
  if (!parts.gpu) {
    return Support::no("the NVIDIA driver is installed but there is no GPU (no /dev/nvidia0)",
                       "check that nvidia-smi lists one; start a container with --gpus all");
  }
  if (parts.no_module != nullptr) return Support::no(parts.no_module->what, parts.no_module->hint);
  return Support::yes();
}

}  // namespace warpmark::device
