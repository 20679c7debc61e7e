// Samples of the machine while a program runs: each GPU through NVML, the host and the program's own processes through
// /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/nvml/nvml.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {

/// A thread of the program: what the kernel's scheduler says of it (/proc/PID/task/TID/schedstat).
struct ThreadTimes {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::string name;             ///< at most 15 bytes
  std::int64_t running_ns = 0;  ///< on a CPU, since it began
  std::int64_t waiting_ns = 0;  ///< could run and had no CPU; the rest of its time it is blocked
};

/// Clock ticks that a set of processes and the whole host have used, and how many of the threads could run.
struct HostTimes {
  std::int64_t program_ticks = 0;  ///< user and system time of the program's processes
  std::int64_t program_threads = 0;
  std::int64_t running_threads = 0;  ///< of them, in state R at the moment of the sample
  std::int64_t busy_ticks = 0;       ///< of all CPUs
  std::int64_t all_ticks = 0;
  std::vector<ThreadTimes> threads;  ///< of the program; those whose times the kernel tells
};

/// `program` and its descendants, as /proc under `root` shows.
[[nodiscard]] std::set<std::int64_t> family_of(const std::filesystem::path& root, pid_t program);

/// Of all of these.
[[nodiscard]] HostTimes read_host_times(const std::filesystem::path& root, pid_t program);

/// Not thread safe.
class CounterSampler {
 public:
  /// GPUs without NVML are left out; gpu_problem() says why.
  CounterSampler(recording::RecordingWriter& writer, pid_t program);
  void sample();
  [[nodiscard]] const std::string& gpu_problem() const { return gpu_problem_; }

 private:
  void sample_host(std::int64_t now);
  void sample_threads(const HostTimes& times, std::int64_t now, double elapsed_ns);
  void sample_gpus(std::int64_t now);
  void begin_traffic();
  void end_traffic();
  struct Traffic {
    std::size_t gpu = 0;
    device::nvml::PcieBytes before;
    std::int64_t begin_ns = 0;
  };

  recording::RecordingWriter& writer_;
  pid_t program_;
  std::vector<std::string> gpus_;  ///< uuids by index
  std::vector<Traffic> traffic_;   ///< of the sample that is being taken
  std::string gpu_problem_;
  HostTimes last_;
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadTimes> threads_;  ///< by process and thread, at the last sample
  std::set<std::pair<std::int64_t, std::int64_t>> active_;                ///< whose last sample was not 0
  std::int64_t last_time_ns_ = 0;
};

}  // namespace warpmark::profile
