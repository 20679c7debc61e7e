#include "profile/module/cupti_library.h"

#include <dlfcn.h>

#include <array>

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

}  // namespace warpmark::profile::module
