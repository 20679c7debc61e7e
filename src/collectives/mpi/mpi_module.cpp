#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "collectives/mpi/mpi_module_api.h"

namespace warpmark::collectives {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleFile = "libwarpmark_mpi.so";

std::vector<fs::path> candidates() {
  const char* named = std::getenv("WARPMARK_MPI_MODULE");
  if (named != nullptr && *named != '\0') return {named};
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kModuleFile, folder.parent_path() / kModuleFile,
          folder.parent_path() / "lib" / "warpmark" / kModuleFile};
}

Result<const MpiModule*> load(const fs::path& path) {
  // Open MPI loads plug-ins of its own, which look for its symbols among the global ones.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return environment_error(fmt::format("MPI cannot be loaded: {}", why != nullptr ? why : path.string()),
                             "install Open MPI: apt-get install openmpi-bin libopenmpi3; or load its module first");
  }
  const auto entry = reinterpret_cast<decltype(&warpmark_mpi_module)>(dlsym(library, kMpiModuleSymbol));
  const MpiModule* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->abi != kMpiModuleAbi) {
    return environment_error(path.string() + " belongs to another build of warpmark",
                             "use the module that was built with this executable");
  }
  return module;
}

Result<const MpiModule*> find_module() {
  std::string looked;
  for (const auto& path : candidates()) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return load(path);
    looked += (looked.empty() ? "" : ", ") + path.string();
  }
  return environment_error(
      fmt::format("this warpmark has no MPI: {} was not found; looked for {}", kModuleFile, looked),
      "build it where mpicc is installed (apt-get install libopenmpi-dev), or name the file in "
      "WARPMARK_MPI_MODULE");
}

}  // namespace

Result<const MpiModule*> mpi_module() {
  static const Result<const MpiModule*> module = find_module();
  return module;
}

}  // namespace warpmark::collectives
