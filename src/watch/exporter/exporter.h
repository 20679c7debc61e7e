// All that `warpmark exporter` tells, looked at anew for every scrape.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "monitor/sampler.h"
#include "store/store.h"
#include "watch/exporter/gpu.h"
#include "watch/exporter/host.h"
#include "watch/server/server.h"

namespace warpmark::watch {

struct ExporterOptions {
  std::filesystem::path root = "/";  ///< of /proc
  std::string host;
  monitor::GpuSource gpus;
  std::function<Result<std::unique_ptr<store::Store>>()> open_store;  ///< empty: nothing of the store is told
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
  std::function<Result<std::unique_ptr<store::Store>>()> open_store_;
};

}  // namespace warpmark::watch
