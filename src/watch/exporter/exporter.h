// All that `warpmark exporter` tells, looked at anew for every scrape.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"
#include "monitor/sampler.h"
#include "store/store.h"
#include "watch/exporter/gpu.h"
#include "watch/exporter/host.h"
#include "watch/exporter/peers.h"
#include "watch/exporter/verdicts.h"
#include "watch/server/server.h"

namespace warpmark::watch {

struct ExporterOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  monitor::GpuSource gpus;
  std::function<Result<std::unique_ptr<store::Store>>()> open_store;  ///< empty: nothing of the store is told
  std::filesystem::path running_folder;  ///< where sessions that measure leave their marks; empty: none are told
};

/// Not thread safe.
class Exporter {
 public:
  explicit Exporter(const ExporterOptions& options);
  /// All that is told, looked at now.
  [[nodiscard]] std::vector<Family> families();
  [[nodiscard]] std::string text(TextFormat format);
  /// "/metrics" in the format that the client accepts, "/" as a hint; 404 else.
  [[nodiscard]] Answer answer(const Asked& asked);

 private:
  GpuLook gpus_;
  HostLook host_;
  PeerLook peers_;
  StoredVerdicts verdicts_;
  std::filesystem::path running_folder_;
  std::function<Result<std::unique_ptr<store::Store>>()> open_store_;
};

}  // namespace warpmark::watch
