#include "warpmark/profiles/gpu_recorder.h"

#include <filesystem>
#include <system_error>

namespace warpmark::apps {

bool has_gpu_recorder(const char* cupti) {
  std::error_code ignored;
  if (cupti != nullptr && *cupti != '\0') return true;
  const auto exists = [&](const char* path) { return std::filesystem::exists(path, ignored); };
  return exists("/proc/driver/nvidia/version") || exists("/dev/dxg");
}

}  // namespace warpmark::apps
