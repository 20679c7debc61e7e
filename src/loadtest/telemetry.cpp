#include "loadtest/telemetry.h"

#include <chrono>

#include "device/nvml/nvml.h"
#include "http/client.h"
#include "serving/client/load_clock.h"

namespace warpmark::loadtest {
namespace {

constexpr std::int64_t kEvery_ns = 500'000'000;

Result<std::map<std::string, double>> values_of_gpus(const std::vector<std::string>& gpus) {
  std::map<std::string, double> values;
  for (const auto& uuid : gpus) {
    WM_ASSIGN(const auto activity, device::nvml::activity_of(uuid));
    if (activity.power_w) values["power"] += *activity.power_w;
    if (activity.utilization) values["utilization"] += *activity.utilization / static_cast<double>(gpus.size());
    if (activity.memory_used_bytes) values["memory"] += static_cast<double>(*activity.memory_used_bytes);
  }
  return values;
}

Result<std::map<std::string, double>> values_of_page(const std::string& source) {
  WM_ASSIGN(const auto url, http::parse_url(source));
  WM_ASSIGN(const auto response, http::request({.url = url}, {.deadline_s = 2}));
  if (response.status != 200) {
    return environment_error(source + " answers " + std::to_string(response.status) + " " + response.reason);
  }
  return serving::telemetry_of_page(response.body);
}

}  // namespace

Result<std::unique_ptr<LoadTelemetry>> LoadTelemetry::start(const std::vector<std::string>& sources) {
  std::unique_ptr<LoadTelemetry> telemetry(new LoadTelemetry(sources));
  if (sources.empty()) return telemetry;
  for (const auto& source : sources) {
    if (source != "nvml") continue;
    WM_ASSIGN(const auto gpus, device::nvml::gpu_list());
    for (const auto& gpu : gpus) {
      telemetry->gpus_.push_back(gpu.uuid);
      telemetry->gpu_memory_ += static_cast<double>(gpu.memory_bytes);
    }
  }
  WM_TRY(telemetry->sample());
  telemetry->thread_ = std::thread([raw = telemetry.get()] {
    while (!raw->ended_.load()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kEvery_ns));
      // A page that cannot be read once leaves a gap; what is there is shown.
      if (!raw->ended_.load()) (void)raw->sample();
    }
  });
  return telemetry;
}

LoadTelemetry::~LoadTelemetry() {
  ended_.store(true);
  if (thread_.joinable()) thread_.join();
}

std::vector<serving::TelemetrySample> LoadTelemetry::stop() {
  ended_.store(true);
  if (thread_.joinable()) thread_.join();
  return std::move(samples_);
}

Status LoadTelemetry::sample() {
  serving::TelemetrySample sample;
  for (const auto& source : sources_) {
    WM_ASSIGN(auto values, source == "nvml" ? values_of_gpus(gpus_) : values_of_page(source));
    if (source == "nvml" && gpu_memory_ > 0) values["memory_total"] = gpu_memory_;
    serving::add_memory_share(values);
    sample.values.merge(values);
  }
  sample.at_ns = serving::load_now_ns();
  samples_.push_back(std::move(sample));
  return {};
}

}  // namespace warpmark::loadtest
