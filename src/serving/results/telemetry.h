// What GPUs and the server did meanwhile: samples along a load, from NVML or from a Prometheus endpoint (DCGM's
// exporter, Triton, vLLM, SGLang), and what follows with the tokens: tokens per joule, utilization, memory. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// Of all GPUs together: "power" W, "energy" J (only grows), "utilization" ratio (mean), "memory" B, "memory_total" B,
/// "memory_share" ratio; of the server: "requests_running", "requests_waiting", "cache_usage" ratio, "engine_memory" B.
struct TelemetrySample {
  std::int64_t at_ns = 0;  ///< of the load's clock
  std::map<std::string, double> values;
};

/// The numbers above in a page of Prometheus' text format; data error where there is none that is known.
[[nodiscard]] Result<std::map<std::string, double>> telemetry_of_page(std::string_view page);

/// Adds "memory_share" where what is used and what there is are known.
void add_memory_share(std::map<std::string, double>& values);

/// Adds "output_throughput_per_gpu", of so many (0: not known), and in a closed loop "output_throughput_per_user".
void add_per_unit(std::int64_t gpus, ScenarioResult& result);

/// Adds "gpu_power", "gpu_utilization", "gpu_memory", "tokens_per_joule", "requests_running", "requests_waiting" and
/// "cache_usage" of the samples within the result's window.
void add_telemetry(const std::vector<TelemetrySample>& samples, ScenarioResult& result);

/// Adds "cost_per_request", "cost_per_million_input_tokens" and "cost_per_million_output_tokens": what all GPUs cost an
/// hour, divided by what they did in it. The whole cost stands against either kind of tokens.
void add_cost(double price_per_hour, ScenarioResult& result);

}  // namespace warpmark::serving
