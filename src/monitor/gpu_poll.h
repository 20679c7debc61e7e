// Asks the driver about all GPUs, each in a thread of its own and with a deadline: a driver that hangs stops neither
// the host's figures nor the other GPUs, and a GPU that was there once is reported until it is back or forgotten.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/nvml/nvml.h"

namespace warpmark::monitor {

/// Where GPUs are asked; tests have their own. Functions may never return.
struct GpuSource {
  std::function<Result<std::vector<device::nvml::GpuFacts>>()> list;
  std::function<Result<device::nvml::GpuActivity>(const std::string& uuid)> activity;
  std::function<Result<device::nvml::PcieBytes>(const std::string& uuid)> pcie;
  std::function<Status()> renew;  ///< before a list, where the last one failed or no GPU answers
};
[[nodiscard]] GpuSource nvml_source();

struct GpuPollOptions {
  double deadline_s = 1;    ///< of all answers to a look
  double first_list_s = 1;  ///< of the first list, which starts the driver where nobody else uses it
  const std::atomic<bool>* interrupted = nullptr;  ///< ends the wait for the first list
  std::vector<device::nvml::GpuFacts> remembered{};
  /// Called with all GPUs of a list that the driver gave.
  std::function<void(const std::vector<device::nvml::GpuFacts>&)> listed{};
};

struct GpuReading {
  device::nvml::GpuFacts facts;
  device::nvml::GpuActivity now;  ///< not up: nothing but the fault is known
  std::optional<device::nvml::PcieTraffic> pcie;
  std::int64_t monotonic_ns = 0;  ///< of the reading
};

struct GpuReadings {
  std::vector<GpuReading> gpus;  ///< those that the driver lists, and those that it did
  std::string problem;           ///< why there are none
  bool silent = false;           ///< the driver does not answer, and no GPU is known
};

/// Not thread safe.
class GpuPoll {
 public:
  explicit GpuPoll(GpuSource source, GpuPollOptions options = {});
  /// Takes 20 ms where GPUs count their PCIe traffic, and up to the deadline where the driver does not answer.
  [[nodiscard]] GpuReadings probe();

 private:
  using List = Result<std::vector<device::nvml::GpuFacts>>;
  struct Gpu {
    device::nvml::GpuFacts facts;
    device::nvml::VendorThread thread;
    std::shared_ptr<GpuReading> answer;  ///< of the call under way or the last one
    bool listed = false;                 ///< by the driver's last list
  };

  void start_list(bool renew);
  void take_list(std::int64_t until_ns);
  void merge(const std::vector<device::nvml::GpuFacts>& list);
  [[nodiscard]] GpuReading reading_of(Gpu& gpu, const Status& started, std::int64_t until_ns) const;
  void list_again_if_due(const GpuReadings& readings);

  std::shared_ptr<const GpuSource> source_;
  GpuPollOptions options_;
  device::nvml::VendorThread list_thread_;
  std::shared_ptr<std::optional<List>> list_answer_;  ///< set: a list was asked for, and not yet taken
  std::int64_t listed_ns_ = 0;                        ///< when the last list was asked for
  bool renewing_ = false;
  std::string problem_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace warpmark::monitor
