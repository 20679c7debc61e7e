// A C interface to libwarpmark_cuda.so for side_by_side.py: prepares a workload and launches it on a stream of the
// caller, so that warpmark's kernels and PyTorch's are timed by the same code, in one process, in turns. Build:
//   g++ -std=c++20 -O2 -shared -fPIC -Isrc -Iinclude bench/gpu/module_shim.cpp libwarpmark_model.a libwarpmark_base.a
//     -lfmt -ldl -o module_shim.so
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "device/cuda/backend.h"
#include "workloads/cuda_bridge.h"

namespace {

using namespace warpmark;

struct OpenModule {
  const device::CudaModule* module = nullptr;
  std::unique_ptr<device::Device> device;
};

struct LoadedWork {
  std::unique_ptr<measure::Prepared> prepared;
  std::string notes;
};

void copy_text(const std::string& text, char* to, std::size_t size) {
  std::strncpy(to, text.c_str(), size - 1);
  to[size - 1] = '\0';
}

}  // namespace

extern "C" {

/// A session with device 0, or null with the reason in `message`.
void* wm_open(const char* library, char* message, std::size_t size) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) return copy_text(dlerror(), message, size), nullptr;
  const auto entry = reinterpret_cast<const device::CudaModule* (*)()>(dlsym(handle, device::kCudaModuleSymbol));
  auto session = std::make_unique<OpenModule>();
  session->module = entry();
  auto device = session->module->open(0);
  if (!device.ok()) return copy_text(device.error().what, message, size), nullptr;
  session->device = std::move(device).value();
  return session.release();
}

/// `text` is "workload name=value name=value ...".
void* wm_prepare(void* opened, const char* text, std::size_t sets, char* message, std::size_t size) {
  auto& session = *static_cast<OpenModule*>(opened);
  std::istringstream words(text);
  std::string workload, word;
  words >> workload;
  Params params;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    const std::string value = word.substr(equals + 1);
    char* end = nullptr;
    const std::int64_t number = std::strtoll(value.c_str(), &end, 10);
    if (*end == '\0')
      params.set(word.substr(0, equals), ParamValue{number});
    else
      params.set(word.substr(0, equals), ParamValue{value});
  }
  const void* found = session.module->workload(workload.c_str());
  const auto* implementation = static_cast<const workloads::CudaImplementation*>(found);
  if (implementation == nullptr) return copy_text("no workload " + workload, message, size), nullptr;
  auto prepared = implementation->prepare({.device = *session.device, .params = params, .sets = sets, .seed = 7});
  if (!prepared.ok()) return copy_text(prepared.error().what, message, size), nullptr;
  auto work = std::make_unique<LoadedWork>();
  work->prepared = std::move(prepared).value();
  for (const auto& [name, note] : work->prepared->notes()) work->notes += name + ": " + note + "; ";
  copy_text(work->notes, message, size);
  return work.release();
}

int wm_launch(void* work, void* stream, std::size_t set) {
  return static_cast<LoadedWork*>(work)->prepared->launch({stream}, set).ok() ? 0 : 1;
}

int wm_poison(void* work) { return static_cast<LoadedWork*>(work)->prepared->poison().ok() ? 0 : 1; }

/// The error of the last launch on `set` over its tolerance: at most 1 is right. Negative if it could not be checked.
double wm_check(void* work, std::size_t set) {
  const auto check = static_cast<LoadedWork*>(work)->prepared->check(set);
  return check.ok() ? check->value / check->tolerance : -1;
}

void wm_release(void* work) { delete static_cast<LoadedWork*>(work); }

}  // extern "C"
