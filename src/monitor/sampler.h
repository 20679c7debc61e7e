// Looks at a machine again and again, and tells what it did in between. Takes well below 1 % of a core: GPUs are asked
// only cheap questions, and where there are so many processes that reading them all would cost more than that, they are
// read less often.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/machine_state.h"
#include "monitor/gpu_poll.h"
#include "monitor/procfs.h"

namespace warpmark::monitor {

struct SamplerOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  std::size_t processes = 10;    ///< at most so many beside those that use a GPU; 0 looks at none
  double process_share = 0.004;  ///< of one core's time, that reading the processes may take
  GpuPollOptions gpus{};
};

struct Moment {
  std::int64_t unix_ns = 0;
  std::int64_t monotonic_ns = 0;
};

/// Not thread safe.
class Sampler {
 public:
  Sampler(SamplerOptions options, GpuSource gpus);
  /// Takes as long as GpuPoll::look.
  [[nodiscard]] MachineState sample(const Moment& now);

 private:
  struct KnownProcess {
    std::int64_t ticks = 0;
    std::int64_t started = 0;
    std::string name;
    std::string command;  ///< read when the process is first shown
  };
  struct Before {
    std::optional<std::uint64_t> nvlink_sent_bytes, nvlink_received_bytes;
    std::int64_t monotonic_ns = 0;
  };

  void inspect_host(HostState& host);
  void inspect_gpus(MachineState& state, std::int64_t monotonic, std::map<std::int64_t, std::vector<GpuUse>>& users);
  void inspect_processes(std::int64_t monotonic_ns);
  [[nodiscard]] std::vector<ProcessState> shown(std::map<std::int64_t, std::vector<GpuUse>> users);

  SamplerOptions options_;
  GpuPoll gpus_;
  ProcFolder proc_;
  std::map<std::string, Before> before_;  ///< by GPU, those that were up at the last look
  std::vector<CpuTicks> last_cpus_;
  std::int64_t last_processes_ns_ = 0;
  double process_cost_s_ = 0;  ///< CPU time of the last look at the processes
  std::map<std::int64_t, KnownProcess> known_;
  std::vector<ProcessState> processes_;
};

/// With a newline, as the rows.
[[nodiscard]] std::string csv_header();
[[nodiscard]] std::string csv_rows(const MachineState& state);

class Summarizer {
 public:
  void add(const MachineState& state);
  [[nodiscard]] const MachineSummary& summary() const { return summary_; }

 private:
  MachineSummary summary_;
  std::int64_t first_ns_ = 0;
};

}  // namespace warpmark::monitor
