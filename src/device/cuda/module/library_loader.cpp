#include "device/cuda/module/library_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>

#include "base/text.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

struct LibrarySpec {
  const char* name;
  std::span<const char* const> files;   ///< sonames, preferred first
  std::span<const char* const> needed;  ///< loaded before it where they can be found; it finds them by name
  std::string (*version)(const Library& library);
  const char* hint;
};

struct Opened {
  void* handle = nullptr;
  std::string path;
};

std::string dotted(std::uint64_t version, std::uint64_t major_unit, std::uint64_t minor_unit) {
  return fmt::format("{}.{}.{}", version / major_unit, version % major_unit / minor_unit, version % minor_unit);
}

std::string cublaslt_version(const Library& library) {
  std::size_t (*get)() = nullptr;
  if (!library.symbol("cublasLtGetVersion", get).ok()) return "unknown version";
  return dotted(get(), 10000, 100);
}

std::string cudnn_version(const Library& library) {
  std::size_t (*get)() = nullptr;
  if (!library.symbol("cudnnGetVersion", get).ok()) return "unknown version";
  const std::uint64_t version = get();  // 8.9.7 is 8907, 9.1.0 is 90100
  return version < 10000 ? dotted(version, 1000, 100) : dotted(version, 10000, 100);
}

std::string nccl_version(const Library& library) {
  int (*get)(int*) = nullptr;
  int version = 0;
  if (!library.symbol("ncclGetVersion", get).ok() || get(&version) != 0) return "unknown version";
  return dotted(static_cast<std::uint64_t>(version), 10000, 100);
}

std::string cupti_version(const Library& library) {
  int (*get)(std::uint32_t*) = nullptr;
  std::uint32_t version = 0;
  if (!library.symbol("cuptiGetVersion", get).ok() || get(&version) != 0) return "unknown version";
  return fmt::format("API {}", version);
}

constexpr std::array kCublasLtFiles{"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr std::array kCudnnFiles{"libcudnn.so.9"};
constexpr std::array kCudnnNeeds{"libcublasLt.so.13", "libcublas.so.13", "libnvrtc.so.13",
                                 "libcublasLt.so.12", "libcublas.so.12", "libnvrtc.so.12"};
constexpr std::array kNcclFiles{"libnccl.so.2"};
constexpr std::array kCuptiFiles{"libcupti.so.13", "libcupti.so.12"};

const LibrarySpec& spec_of(LibraryId id) {
  static const std::array<LibrarySpec, 4> specs{{
      {"cuBLASLt", kCublasLtFiles, {}, cublaslt_version, "pip install nvidia-cublas, or install the CUDA toolkit"},
      {"cuDNN", kCudnnFiles, kCudnnNeeds, cudnn_version, "pip install nvidia-cudnn-cu13, or install cuDNN 9"},
      {"NCCL", kNcclFiles, {}, nccl_version, "pip install nvidia-nccl-cu13, or install libnccl2"},
      {"CUPTI", kCuptiFiles, {}, cupti_version, "pip install nvidia-cuda-cupti, or install the CUDA toolkit"},
  }};
  return specs[static_cast<std::size_t>(id)];
}

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr) return map->l_name;
  return name;
}

/// By name first, then in every directory. RTLD_GLOBAL: cuDNN's parts look for cuBLAS and NVRTC by name.
std::optional<Opened> open_library(const char* file, std::span<const std::string> directories,
                                   std::vector<std::string>& failures) {
  constexpr int kFlags = RTLD_LAZY | RTLD_GLOBAL;
  if (void* handle = dlopen(file, kFlags)) return Opened{handle, path_of(handle, file)};
  for (const std::string& directory : directories) {
    const fs::path path = fs::path(directory) / file;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    if (void* handle = dlopen(path.c_str(), kFlags)) return Opened{handle, path_of(handle, path)};
    const char* why = dlerror();
    failures.emplace_back(why != nullptr ? why : path.string());
  }
  return std::nullopt;
}

/// Either all of CUDA 13's or all of CUDA 12's: mixing majors would load cuBLAS twice.
void load_needed(std::span<const char* const> needed, std::span<const std::string> directories) {
  std::vector<std::string> ignored;
  std::string major;
  for (const char* file : needed) {
    const std::string_view text = file;
    const std::string this_major(text.substr(text.rfind('.') + 1));
    if (!major.empty() && major != this_major) continue;
    if (open_library(file, directories, ignored)) major = this_major;
  }
}

Result<Library> load(const LibrarySpec& spec) {
  const std::vector<std::string> directories = library_directories();
  load_needed(spec.needed, directories);
  std::vector<std::string> failures;
  for (const char* file : spec.files) {
    const auto opened = open_library(file, directories, failures);
    if (!opened) continue;
    const std::string version = spec.version(Library(opened->handle, opened->path, ""));
    return Library(opened->handle, opened->path, version);
  }
  const std::vector<std::string> names(spec.files.begin(), spec.files.end());
  if (!failures.empty()) {
    return environment_error(fmt::format("{} cannot be loaded: {}", spec.name, join(failures, "; ")), spec.hint);
  }
  return environment_error(
      fmt::format("{} not found: no {} in the loader's path or in {}", spec.name, join(names, " or "),
                  directories.empty() ? "any of the usual places" : join(directories, ", ")),
      fmt::format("{}, or set WARPMARK_LIBRARY_PATH to its directory", spec.hint));
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator item(directory, error), end; !error && item != end; item.increment(error)) {
    entries.push_back(item->path());
  }
  std::sort(entries.begin(), entries.end(), std::greater<>());  // newest version first
  return entries;
}

class DirectoryList {
 public:
  void add(const fs::path& directory) {
    std::error_code error;
    const fs::path real = fs::canonical(directory, error);
    if (error || !fs::is_directory(real, error)) return;
    if (std::find(found_.begin(), found_.end(), real.string()) == found_.end()) found_.push_back(real.string());
  }

  void add_toolkits() {
    for (const fs::path& entry : entries_of("/usr/local")) {
      if (entry.filename().string().rfind("cuda", 0) != 0) continue;
      for (const char* part : {"lib64", "lib", "extras/CUPTI/lib64"}) add(entry / part);
    }
  }

  /// A Python environment's prefix: PREFIX/lib/python3.X/{site,dist}-packages/nvidia/*/lib, and conda's PREFIX/lib.
  void add_python_prefix(const fs::path& prefix) {
    for (const fs::path& python : entries_of(prefix / "lib")) {
      if (python.filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& package : entries_of(python / packages / "nvidia")) add(package / "lib");
      }
    }
    std::error_code ignored;
    if (fs::exists(prefix / "conda-meta", ignored)) add(prefix / "lib");
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

const Result<Library>& loaded(LibraryId id) {
  switch (id) {  // one static a library: loading one must not load the others
    case LibraryId::cublaslt: {
      static const Result<Library> library = load(spec_of(LibraryId::cublaslt));
      return library;
    }
    case LibraryId::cudnn: {
      static const Result<Library> library = load(spec_of(LibraryId::cudnn));
      return library;
    }
    case LibraryId::nccl: {
      static const Result<Library> library = load(spec_of(LibraryId::nccl));
      return library;
    }
    case LibraryId::cupti: break;
  }
  static const Result<Library> library = load(spec_of(LibraryId::cupti));
  return library;
}

}  // namespace

void* Library::find(const char* name) const { return dlsym(handle_, name); }

Status Library::missing_symbol(const char* name) const {
  return unsupported_error(fmt::format("{} ({}) has no {}", path_, version_, name), "install a newer version of it");
}

Result<const Library*> load_library(LibraryId id) {
  const Result<Library>& library = loaded(id);
  if (!library.ok()) return library.error();
  return &library.value();
}

std::vector<std::pair<std::string, std::string>> library_report() {
  std::vector<std::pair<std::string, std::string>> report;
  for (const LibraryId id : {LibraryId::cublaslt, LibraryId::cudnn, LibraryId::nccl, LibraryId::cupti}) {
    const auto library = load_library(id);
    std::string text = library.ok() ? (*library)->version() + " " + (*library)->path() : library.error().what;
    const std::string prefix = std::string(spec_of(id).name) + " ";
    if (!library.ok() && text.rfind(prefix, 0) == 0) text.erase(0, prefix.size());
    report.emplace_back(spec_of(id).name, std::move(text));
  }
  return report;
}

std::vector<std::string> library_directories() {
  DirectoryList list;
  for (const std::string& directory : split(environment("WARPMARK_LIBRARY_PATH"), ':')) {
    if (!directory.empty()) list.add(directory);
  }
  list.add_toolkits();
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (*environment(variable) != '\0') list.add_python_prefix(environment(variable));
  }
  for (const std::string& directory : split(environment("PATH"), ':')) {
    std::error_code ignored;
    if (directory.empty() || !fs::exists(fs::path(directory) / "python3", ignored)) continue;
    list.add_python_prefix(fs::path(directory).parent_path());
    const fs::path real = fs::canonical(fs::path(directory) / "python3", ignored);
    if (!real.empty()) list.add_python_prefix(real.parent_path().parent_path());
  }
  for (const fs::path& entry : entries_of("/opt")) {
    for (const char* venv : {".venv", "venv"}) list.add_python_prefix(entry / venv);
  }
  if (*environment("HOME") == '/') list.add_python_prefix(fs::path(environment("HOME")) / ".local");
  return std::move(list).take();
}

}  // namespace warpmark::device
