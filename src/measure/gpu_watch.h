// What a program makes of the GPUs while it runs, seen from outside and without its help: looks at every GPU twice a
// second by the driver's cheap questions, on a thread of its own, and its energy counters before and after.
//
// A GPU counts as used where, after the program began, a process has a context on it that had none before, or its
// memory fills by more than a context's worth (in a container processes may not be told). What others do there is in
// the figures, as the driver does not tell whose work a GPU does.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/nvml/nvml.h"
#include "model/metric.h"

namespace warpmark::measure {

/// Where GPUs are asked; tests have their own.
struct GpuProbe {
  std::function<std::vector<std::string>()> list;  ///< identifiers; empty without a driver
  std::function<Result<device::nvml::GpuActivity>(const std::string& uuid)> activity;
  std::function<std::optional<double>(const std::string& uuid)> energy_j;  ///< since the driver was loaded
};
/// Those of CUDA_VISIBLE_DEVICES: others have programs of their own.
[[nodiscard]] GpuProbe nvml_probe();
/// The identifiers that a value of CUDA_VISIBLE_DEVICES ("1,0" or "GPU-3f,...") names; numbers in the driver's order.
[[nodiscard]] std::vector<std::string> visible_gpus(const std::vector<std::string>& uuids, const std::string& visible);

/// Of the GPUs that were used; nothing of what the driver does not tell, or of what the time was too short for.
struct GpuUse {
  int gpus = 0;  ///< used; 0: everything else is empty
  std::int64_t polls = 0;
  std::optional<double> utilization;  ///< ratio; mean over the looks and the GPUs used
  std::optional<double> peak_memory;  ///< bytes above what was there before, of the GPU that rose most
  std::optional<double> energy_j;     ///< of all used together
  std::optional<double> power_w;      ///< mean, of all used together
  std::optional<double> clock_hz;     ///< mean SM clock of the looks at which kernels ran
};

/// Of a part of the time: the looks in it, and the counters where they stood at its ends, between two looks linearly.
struct GpuPart {
  std::optional<double> utilization;  ///< ratio; mean over the looks and the GPUs used
  std::optional<double> energy_j;     ///< of all used together
};

class GpuWatch {
 public:
  /// With `energy_looks` every look also reads the energy counters, for within().
  explicit GpuWatch(GpuProbe probe = nvml_probe(), double interval_s = 0.5, bool energy_polls = false);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  [[nodiscard]] bool available() const { return !gpus_.empty(); }
  /// Right before the program. Does nothing without GPUs.
  void begin();
  /// Right after it; `elapsed_s` is how long it ran.
  [[nodiscard]] GpuUse end(double elapsed_s);
  /// After end(): between two moments of the monotonic clock, in seconds. Nothing of what no look was at.
  [[nodiscard]] GpuPart within(double begin_s, double end_s) const;

 private:
  struct Gpu {
    std::string uuid;
    std::vector<std::int64_t> processes_before;
    std::int64_t memory_before = 0;
    std::optional<double> energy_before;
    // By the looks since:
    bool process_seen = false;
    std::int64_t most_memory = 0;
    std::vector<double> utilization, clocks, power;
    std::vector<std::pair<double, double>> busy, counter;  ///< by time: utilization, joules
  };
  void read_counters();
  void probe();
  void run();
  static bool used(const Gpu& gpu);

  GpuProbe probe_;
  double interval_s_;
  bool energy_polls_;
  std::vector<Gpu> gpus_;
  std::int64_t polls_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
};

/// As metrics of one sample each (model/auxiliary.h), those that are known.
[[nodiscard]] std::vector<Metric> metrics_of(const GpuUse& use);

}  // namespace warpmark::measure
