// All that `warpmark exporter` tells, looked at anew for every scrape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "monitor/gpu_poll.h"
#include "monitor/sampler.h"
#include "store/store.h"
#include "watch/exporter/families.h"
#include "watch/exporter/host.h"
#include "watch/exporter/stored.h"
#include "watch/server/server.h"

namespace warpmark::watch {

// GPUs under the names of NVIDIA's DCGM exporter, so that its dashboards and alert rules work unchanged
// (github.com/NVIDIA/dcgm-exporter, etc/default-counters.csv, and its labels).

class Collected;

/// Not thread safe.
class GpuSample {
 public:
  GpuSample(monitor::GpuSource source, std::string host, monitor::GpuPollOptions options = {})
      : poll_(std::move(source), std::move(options)), host_(std::move(host)) {}
  /// Takes as long as monitor::GpuPoll::look.
  [[nodiscard]] std::vector<Family> families();

 private:
  struct Nvlink {
    std::optional<std::uint64_t> sent, received;
    std::optional<double> sent_rate, received_rate;
    std::int64_t monotonic_ns = 0;
  };
  void add_nvlink_rates(Collected& out, const monitor::GpuReading& gpu, const Labels& labels);

  monitor::GpuPoll poll_;
  std::string host_;
  std::map<std::string, Nvlink> nvlink_;  ///< by GPU, those that are up
};

struct ExporterOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  monitor::GpuSource gpus;
  monitor::GpuPollOptions poll{};
  std::function<Result<std::unique_ptr<store::Store>>()> open_store;  ///< empty: nothing of the store is told
  /// A text that changes whenever the store does, or an empty one where that is not known: what it holds is read anew
  /// then.
  std::function<std::string()> store_stamp{};
  bool rates = false;     ///< also means since the look before: for one who looks alone
  std::string version{};  ///< with the revision, of warpmark_build_info
  std::string revision{};
  std::filesystem::path running_folder;  ///< where sessions that measure leave their marks; empty: none are told
};

/// One thread at a time looks; others wait.
class Exporter {
 public:
  explicit Exporter(const ExporterOptions& options);
  /// All that is told, looked at now.
  [[nodiscard]] std::vector<Family> families();
  [[nodiscard]] std::string text(TextFormat format);
  /// "/metrics" in the format that the client accepts; "/" as a hint and "/healthz", which answer at once; 404 else.
  [[nodiscard]] Answer answer(const Asked& asked);

 private:
  [[nodiscard]] const std::vector<Family>& stored();
  [[nodiscard]] std::vector<Family> of_itself(std::int64_t began_ns);

  std::mutex searching_;
  std::string host_name_, version_, revision_;
  std::int64_t polls_ = 0;
  GpuSample gpus_;
  HostSample host_;
  PeerSample peers_;
  StoredVerdicts verdicts_;
  std::filesystem::path running_folder_;
  std::function<Result<std::unique_ptr<store::Store>>()> open_store_;
  std::function<std::string()> store_stamp_;
  std::vector<Family> stored_;
  std::string stored_stamp_;  ///< of the store when it was read last; empty: it must be read
};

}  // namespace warpmark::watch
