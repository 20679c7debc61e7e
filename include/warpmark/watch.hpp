// What the GPUs and this machine did while a part of a program ran: utilization, memory, power.
//
//     warpmark::Watch watch;
//     train_one_epoch();
//     const auto seen = watch.stop();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace warpmark::v0 {

/// Over the samples that were taken.
struct Range {
  double min = 0;
  double mean = 0;
  double max = 0;
};

struct GpuSeen {
  int index = 0;
  std::string name;
  std::optional<Range> utilization;       ///< ratio of the time that any kernel ran
  std::optional<Range> memory_bytes;      ///< used by all processes
  std::optional<Range> own_memory_bytes;  ///< used by this process, where the driver tells
  std::optional<std::int64_t> capacity_bytes;
  std::optional<Range> power_w;
  std::optional<double> energy_j;  ///< mean power times the time
  std::optional<Range> sm_clock_hz;
};

struct Seen {
  double seconds = 0;
  std::int64_t polls = 0;
  std::optional<Range> cpu_utilization;  ///< ratio of all CPUs
  std::int64_t peak_memory_bytes = 0;    ///< largest resident set of this process so far
  std::vector<GpuSeen> gpus;
  std::string gpu_problem;  ///< why none is listed
};

struct WatchOptions {
  double interval_s = 0.1;  ///< between polls; each takes up to 20 ms of a thread that mostly sleeps
};

/// Looks from its construction on, in a thread of its own, at least at the begin and at the end.
class Watch {
 public:
  explicit Watch(const WatchOptions& options = {});
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  /// Ends the watch; the same answer again when called again.
  Seen stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string to_text(const Seen& seen);

}  // namespace warpmark::v0
