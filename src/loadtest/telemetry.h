// Looks at GPUs and server while a load runs, on a thread of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "serving/results/telemetry.h"

namespace warpmark::loadtest {

class LoadTelemetry {
 public:
  /// "nvml", or the URL of a page of Prometheus; both may be among them. An error if one cannot be read now. Nothing is
  /// sampled without sources.
  [[nodiscard]] static Result<std::unique_ptr<LoadTelemetry>> start(const std::vector<std::string>& sources);
  ~LoadTelemetry();
  LoadTelemetry(const LoadTelemetry&) = delete;
  LoadTelemetry& operator=(const LoadTelemetry&) = delete;
  /// Ends it; all samples, in order.
  [[nodiscard]] std::vector<serving::TelemetrySample> stop();

 private:
  explicit LoadTelemetry(std::vector<std::string> sources) : sources_(std::move(sources)) {}
  Status sample();
  std::vector<std::string> sources_;
  std::vector<std::string> gpus_;  ///< NVML's identifiers
  double gpu_memory_ = 0;          ///< bytes of all of them
  std::vector<serving::TelemetrySample> samples_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace warpmark::loadtest
