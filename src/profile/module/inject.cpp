// What CUDA's driver loads when CUDA_INJECTION64_PATH names this library: recording begins with the first CUDA call of
// a program that knows nothing of it (CUPTI documentation, "Injecting"; the driver calls InitializeInjection once).
#include <cstdlib>
#include <utility>

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

/// For a program that records a part of itself (the Python package's record()): from now on, as the environment says. 1
/// if a recorder runs now; 0 if one did already, or the environment names no folder. One thread at a time.
extern "C" __attribute__((visibility("default"))) int warpmark_recording_start() {
  warpmark::profile::module::RecorderOptions options;
  if (recorder() != nullptr && recorder()->is_running()) return 0;
  if (!warpmark::profile::module::options_from_environment(options)) return 0;
  const auto* earlier = recorder();
  recorder() =
      new warpmark::profile::module::Recorder(std::move(options));  // the earlier one stays: see its declaration
  if (earlier == nullptr) {
    std::atexit([] { recorder()->stop(); });
  } else {
    recorder()->succeed(*earlier);
  }
  recorder()->start();
  return 1;
}

/// What the GPU still does is not waited for: the program synchronizes first.
extern "C" __attribute__((visibility("default"))) void warpmark_recording_stop() {
  if (recorder() != nullptr) recorder()->stop();
}
