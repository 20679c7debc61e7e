// What CUDA's driver loads when CUDA_INJECTION64_PATH names this library: recording begins with the first CUDA call of
// a program that knows nothing of it (CUPTI documentation, "Injecting"; the driver calls InitializeInjection once).
#include <cstdlib>

#include "profile/module/recorder.h"

namespace {

warpmark::profile::module::Recorder*& recorder() {
  static warpmark::profile::module::Recorder* instance = nullptr;
  return instance;
}

}  // namespace

/// 1 if the library may stay loaded.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  warpmark::profile::module::RecorderOptions options;
  if (recorder() != nullptr || !warpmark::profile::module::options_from_environment(options)) return 1;
  recorder() = new warpmark::profile::module::Recorder(std::move(options));  // never destroyed: see its declaration
  recorder()->start();
  std::atexit([] { recorder()->stop(); });
  return 1;
}
