// How many CPUs and how much memory this process may use: what the machine has, cut down by its control groups (version
// 1 and 2, Linux Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst). `root` is "/" outside tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace warpmark::device {

/// The tightest limits on the way from this process's group to the top; no value means no limit.
struct CgroupLimits {
  std::optional<double> cpus;  ///< CPU time per time: 1.5 is one and a half CPUs
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_left_bytes;  ///< before the tightest group is full; its file cache can be dropped
};
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

struct MemoryState {
  std::int64_t total_bytes = 0;      ///< of the machine or the group's limit; 0 if unknown
  std::int64_t available_bytes = 0;  ///< without swapping
  std::int64_t swap_total_bytes = 0;
  std::int64_t swap_used_bytes = 0;
};
[[nodiscard]] MemoryState read_memory(const std::filesystem::path& root);

}  // namespace warpmark::device
