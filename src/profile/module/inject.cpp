// What CUDA's driver loads when CUDA_INJECTION64_PATH names this library: recording begins with the first CUDA call of
// a program that knows nothing of it (CUPTI documentation, "Injecting"; the driver calls InitializeInjection once).
#include <cstdlib>
#include <utility>

#include "profile/module/recorder.h"

namespace {

using warpmark::profile::module::Recorder;
using warpmark::profile::module::RecorderOptions;

Recorder*& recorder() {
  static Recorder* instance = nullptr;
  return instance;
}

/// Whether one records now. The earlier one stays: see its declaration.
bool record(const warpmark::profile::module::Setting& setting) {
  RecorderOptions options;
  if (recorder() != nullptr && recorder()->is_running()) return false;
  if (!warpmark::profile::module::read_options(setting, options)) return false;
  const Recorder* earlier = recorder();
  recorder() = new Recorder(std::move(options));
  if (earlier == nullptr) {
    std::atexit([] { recorder()->stop(); });
  } else {
    recorder()->succeed(*earlier);
  }
  recorder()->start();
  return true;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

/// 1 if the library may stay loaded.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static bool sleeps = false;
  if (sleeps || recorder() != nullptr) return 1;
  if (*variable("WARPMARK_RECORD_DORMANT") == '\0') {
    record(variable);
    return 1;
  }
  sleeps = true;
  warpmark::profile::module::await_requests(variable("WARPMARK_RECORD_DORMANT"),
                                            [](const warpmark::profile::module::Request& request) {
                                              record([&request](const char* name) {
                                                const auto found = request.find(name);
                                                return found == request.end() ? "" : found->second.c_str();
                                              });
                                            });
  return 1;
}

/// For a program that records a part of itself (the Python package's record()): from now on, as the environment says. 1
/// if a recorder runs now; 0 if one did already, or the environment names no folder. One thread at a time.
extern "C" __attribute__((visibility("default"))) int warpmark_recording_start() { return record(variable) ? 1 : 0; }

/// What the GPU still does is not waited for: the program synchronizes first.
extern "C" __attribute__((visibility("default"))) void warpmark_recording_stop() {
  if (recorder() != nullptr) recorder()->stop();
}
