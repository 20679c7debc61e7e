#include "profile/module/cupti_library.h"

#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>

namespace warpmark::profile::module {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The first function that is missing, or nullptr.
const char* resolve(void* library, CuptiLibrary& cupti) {
#define WARPMARK_FIND(name) \
  if (!find(library, "cupti" #name, cupti.name)) return "cupti" #name;
  WARPMARK_FIND(ActivityEnable)
  WARPMARK_FIND(ActivityDisable)
  WARPMARK_FIND(ActivityRegisterCallbacks)
  WARPMARK_FIND(ActivityGetNextRecord)
  WARPMARK_FIND(ActivityGetNumDroppedRecords)
  WARPMARK_FIND(ActivityFlushAll)
  WARPMARK_FIND(ActivityRegisterTimestampCallback)
  WARPMARK_FIND(Subscribe)
  WARPMARK_FIND(EnableCallback)
  WARPMARK_FIND(GetCallbackName)
  WARPMARK_FIND(GetVersion)
#undef WARPMARK_FIND
  return nullptr;
}

struct Driver {
  decltype(&cuDeviceGetCount) count = nullptr;
  decltype(&cuDeviceGet) get = nullptr;
  decltype(&cuDeviceGetName) name = nullptr;
  decltype(&cuDeviceTotalMem) memory = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuDeviceGetUuid) uuid = nullptr;
};

/// Never loads the driver: a program that does not use it is left alone.
bool find_driver(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const bool complete = find(library, "cuDeviceGetCount", driver.count) && find(library, "cuDeviceGet", driver.get) &&
                        find(library, "cuDeviceGetName", driver.name) &&
                        find(library, "cuDeviceTotalMem_v2", driver.memory) &&
                        find(library, "cuDeviceGetAttribute", driver.attribute);
  find(library, "cuDeviceGetUuid_v2", driver.uuid);  // older drivers have none
  dlclose(library);                                  // the program keeps it
  return complete;
}

/// As NVML and nvidia-smi write it.
std::string text_of(const CUuuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits.data();
  }
  return text;
}

std::string line_of(const Driver& driver, int index) {
  CUdevice device = 0;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  if (driver.get(&device, index) != CUDA_SUCCESS ||
      driver.name(name.data(), static_cast<int>(name.size()) - 1, device) != CUDA_SUCCESS ||
      driver.memory(&bytes, device) != CUDA_SUCCESS) {
    return {};
  }
  std::string line = std::to_string(index) + '|' + name.data() + '|' + std::to_string(bytes);
  for (const CUdevice_attribute what :
       {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR}) {
    int value = 0;
    if (driver.attribute(&value, what, device) != CUDA_SUCCESS) return {};
    line += '|' + std::to_string(value);
  }
  CUuuid uuid{};
  return driver.uuid != nullptr && driver.uuid(&uuid, device) == CUDA_SUCCESS ? line + '|' + text_of(uuid) : line;
}

}  // namespace

std::string load_cupti(const char* wanted, CuptiLibrary& library) {
  constexpr std::array kNames{"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  // The program may have it already (PyTorch brings its own); a second copy could not see the first one's context.
  void* opened = nullptr;
  for (const char* name : kNames) {
    if (opened == nullptr) opened = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  if (opened == nullptr && wanted != nullptr && *wanted != '\0') {
    opened = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return "CUPTI cannot be loaded: " + std::string(dlerror());
  }
  for (const char* name : kNames) {
    if (opened == nullptr) opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (opened == nullptr) return "CUPTI was not found (libcupti.so.13, .12, or without a number)";
  if (const char* missing = resolve(opened, library)) return "this CUPTI is too old: it has no " + std::string(missing);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(library.ActivityEnable), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return {};
}

bool is_taken(CUptiResult code) {
  return code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || code == CUPTI_ERROR_MAX_LIMIT_REACHED ||
         code == CUPTI_ERROR_NOT_COMPATIBLE;
}

std::string taken_text(CUptiResult code) {
  return "another profiler holds CUPTI in this program (error " + std::to_string(code) +
         "): only host and GPU counters were recorded";
}

std::vector<std::string> gpu_facts() {
  std::vector<std::string> lines;
  Driver driver;
  int count = 0;
  if (!find_driver(driver) || driver.count(&count) != CUDA_SUCCESS) return lines;
  for (int index = 0; index < count; ++index) {
    if (std::string line = line_of(driver, index); !line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace warpmark::profile::module
