// What a machine is: facts that do not change while a benchmark runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace warpmark {

struct CacheLevel {
  int level = 0;  ///< 1, 2, 3
  std::string kind;
  std::int64_t bytes = 0;
  int shared_by = 1;
};

/// One place where work can run.
struct DeviceInfo {
  std::string id;
  std::string backend;
  std::string name;  ///< the vendor's name
  std::string uuid;  ///< empty where there is none
  std::int64_t memory_bytes = 0;
  std::int64_t last_level_cache_bytes = 0;
  std::vector<CacheLevel> caches;
  int compute_units = 0;
  double max_clock_hz = 0;  ///< 0 if unknown
  std::string architecture;
  std::vector<std::pair<std::string, std::string>> details;  ///< further facts, name and text
};

/// Fingerprint of a machine of which nothing is said, as in files of other tools.
inline constexpr const char* kUnknownMachine = "unknown";

struct Machine {
  std::string hostname;
  std::string os;
  std::string kernel;
  std::string cpu;
  std::string virtualization;
  std::int64_t memory_bytes = 0;
  std::vector<DeviceInfo> devices;
  std::vector<std::pair<std::string, std::string>> software;  ///< driver and library versions
  std::string fingerprint;
};

/// How this executable was made.
struct Build {
  std::string version;
  std::string git_sha;
  bool git_dirty = false;
  std::string compiler;
  std::string type;
  std::vector<std::string> features;  ///< "cuda 13.0", "onednn 2.6.3", ...
};

}  // namespace warpmark
