#include "serving/results/telemetry.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

struct KnownSeries {
  const char* name;  ///< of the exporter
  const char* id;
  double factor;
  bool mean;  ///< over its lines; else their sum
};

constexpr KnownSeries kKnownSeries[] = {
    {"DCGM_FI_DEV_POWER_USAGE", "power", 1, false},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "energy", 1e-3, false},
    {"DCGM_FI_DEV_GPU_UTIL", "utilization", 0.01, true},
    {"DCGM_FI_DEV_FB_USED", "memory", 1048576, false},
    {"DCGM_FI_DEV_FB_FREE", "memory_free", 1048576, false},
    {"nv_gpu_power_usage", "power", 1, false},
    {"nv_energy_consumption", "energy", 1, false},
    {"nv_gpu_utilization", "utilization", 1, true},
    {"nv_gpu_memory_used_bytes", "memory", 1, false},
    {"nv_gpu_memory_total_bytes", "memory_total", 1, false},
    {"process_resident_memory_bytes", "engine_memory", 1, false},
    {"vllm:num_requests_running", "requests_running", 1, false},
    {"vllm:num_requests_waiting", "requests_waiting", 1, false},
    {"vllm:gpu_cache_usage_perc", "cache_usage", 1, true},
    {"vllm:kv_cache_usage_perc", "cache_usage", 1, true},
    {"sglang:num_running_reqs", "requests_running", 1, false},
    {"sglang:num_queue_reqs", "requests_waiting", 1, false},
    {"sglang:token_usage", "cache_usage", 1, true},
};

/// "name{labels} value [time]"; nothing for comments and other lines.
std::optional<std::pair<std::string_view, double>> line_of_page(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  const auto name_end = line.find_first_of("{ \t");
  if (name_end == std::string_view::npos) return std::nullopt;
  std::size_t value_at = name_end;
  if (line[name_end] == '{') {
    const auto close = line.rfind('}');
    if (close == std::string_view::npos) return std::nullopt;
    value_at = close + 1;
  }
  const std::string_view rest = trim(line.substr(value_at));
  const auto value = parse_number(rest.substr(0, rest.find_first_of(" \t")));
  if (!value.ok()) return std::nullopt;
  return std::pair(line.substr(0, name_end), *value);
}

LoadMetric sampled_metric(const char* id, const char* unit, Better better, const std::vector<double>& values) {
  LoadMetric metric{.id = id, .unit = unit, .better = better, .n = static_cast<std::int64_t>(values.size())};
  metric.min = *std::min_element(values.begin(), values.end());
  metric.max = *std::max_element(values.begin(), values.end());
  for (const double value : values) metric.mean += value / static_cast<double>(values.size());
  for (const double value : values) metric.stdev += (value - metric.mean) * (value - metric.mean);
  metric.stdev = values.size() > 1 ? std::sqrt(metric.stdev / static_cast<double>(values.size() - 1)) : 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  metric.interval_method = "none: samples of a page twice a second";
  for (const double p : {0.5, 0.95}) {
    metric.percentiles.push_back({p, stats::quantile_of_sorted(sorted, p), std::nullopt, ""});
  }
  return metric;
}

struct Shown {
  const char* value;
  const char* id;
  const char* unit;
  Better better;
};
constexpr Shown kShown[] = {{"power", "gpu_power", "W", Better::neither},
                            {"utilization", "gpu_utilization", "1", Better::neither},
                            {"memory", "gpu_memory", "B", Better::lower},
                            {"memory_share", "gpu_memory_share", "1", Better::neither},
                            {"engine_memory", "engine_memory", "B", Better::lower},
                            {"requests_running", "requests_running", "1", Better::neither},
                            {"requests_waiting", "requests_waiting", "1", Better::neither},
                            {"cache_usage", "cache_usage", "1", Better::neither}};

/// Watts over the samples: by the energy counter where there is one, as power samples miss what is between them.
std::optional<double> mean_power(const std::vector<const TelemetrySample*>& samples) {
  const auto value = [](const TelemetrySample& sample, const char* id) {
    const auto found = sample.values.find(id);
    return found == sample.values.end() ? std::optional<double>() : std::optional(found->second);
  };
  if (samples.size() < 2) return std::nullopt;
  const auto first = value(*samples.front(), "energy"), last = value(*samples.back(), "energy");
  const double seconds = static_cast<double>(samples.back()->at_ns - samples.front()->at_ns) * 1e-9;
  if (first && last && *last > *first && seconds > 0) return (*last - *first) / seconds;
  double joules = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const auto a = value(*samples[i - 1], "power"), b = value(*samples[i], "power");
    if (!a || !b) return std::nullopt;
    joules += (*a + *b) / 2 * static_cast<double>(samples[i]->at_ns - samples[i - 1]->at_ns) * 1e-9;
  }
  return seconds > 0 && joules > 0 ? std::optional(joules / seconds) : std::nullopt;
}

}  // namespace

void add_memory_share(std::map<std::string, double>& values) {
  const auto used = values.find("memory"), free = values.find("memory_free"), total = values.find("memory_total");
  if (used == values.end()) return;
  double all = total != values.end() ? total->second : 0;
  if (all == 0 && free != values.end()) all = used->second + free->second;
  if (all > 0) values["memory_share"] = used->second / all;
}

Result<std::map<std::string, double>> telemetry_of_page(std::string_view page) {
  std::map<std::string, double> values;
  std::map<std::string, int> lines;
  for (const auto& text : split(page, '\n')) {
    const auto line = line_of_page(text);
    if (!line) continue;
    for (const auto& known : kKnownSeries) {
      if (line->first != known.name || !std::isfinite(line->second)) continue;
      values[known.id] += line->second * known.factor;
      if (known.mean) ++lines[known.id];
    }
  }
  for (const auto& [id, count] : lines) values[id] /= count;
  add_memory_share(values);
  if (values.empty()) {
    return data_error("the metrics page has no known metric",
                      "DCGM's exporter (DCGM_FI_DEV_POWER_USAGE, ...), Triton (nv_gpu_...), vllm:..., sglang:...");
  }
  return values;
}

void add_telemetry(const std::vector<TelemetrySample>& samples, ScenarioResult& result) {
  const std::int64_t begin = result.began_ns + static_cast<std::int64_t>(result.window_begin_s * 1e9),
                     end = begin + static_cast<std::int64_t>(result.window_s * 1e9);
  std::vector<const TelemetrySample*> within;
  for (const auto& sample : samples) {
    if (sample.at_ns >= begin && sample.at_ns <= end) within.push_back(&sample);
  }
  for (const auto& shown : kShown) {
    std::vector<double> values;
    for (const auto* sample : within) {
      if (const auto found = sample->values.find(shown.value); found != sample->values.end()) {
        values.push_back(found->second);
      }
    }
    if (!values.empty()) result.metrics.push_back(sampled_metric(shown.id, shown.unit, shown.better, values));
  }
  const LoadMetric* tokens = metric_of(result, "output_throughput");
  const auto power = mean_power(within);
  if (!power || tokens == nullptr || !(tokens->mean > 0)) return;
  result.metrics.push_back(
      {.id = "tokens_per_joule", .unit = "tokens/J", .better = Better::higher, .n = 1, .mean = tokens->mean / *power});
}

void add_per_unit(std::int64_t gpus, ScenarioResult& result) {
  const LoadMetric* output = metric_of(result, "output_throughput");
  if (output == nullptr) return;
  const LoadMetric whole = *output;
  const auto add = [&](const char* id, std::int64_t count) {
    if (count < 1) return;
    const auto n = static_cast<double>(count);
    LoadMetric metric{.id = id, .unit = whole.unit, .better = Better::higher, .n = whole.n, .mean = whole.mean / n};
    if (whole.mean_interval) {
      metric.mean_interval =
          Interval{whole.mean_interval->low / n, whole.mean_interval->high / n, whole.mean_interval->confidence};
    }
    result.metrics.push_back(std::move(metric));
  };
  add("output_throughput_per_gpu", gpus);
  add("output_throughput_per_user", result.arrivals == "closed" ? result.users : 0);
}

void add_cost(double price_per_hour, ScenarioResult& result) {
  struct Cost {
    const char* id;
    const char* rate;
    double of;
  };
  constexpr Cost kCosts[] = {{"cost_per_request", "request_throughput", 1},
                             {"cost_per_million_input_tokens", "input_throughput", 1e6},
                             {"cost_per_million_output_tokens", "output_throughput", 1e6}};
  for (const auto& cost : kCosts) {
    const LoadMetric* rate = metric_of(result, cost.rate);
    if (rate == nullptr || !(rate->mean > 0)) continue;
    const double scale = price_per_hour / 3600 * cost.of;
    LoadMetric metric{.id = cost.id, .unit = "1", .better = Better::lower, .n = rate->n, .mean = scale / rate->mean};
    if (rate->mean_interval && rate->mean_interval->low > 0) {
      metric.mean_interval = Interval{scale / rate->mean_interval->high, scale / rate->mean_interval->low,
                                      rate->mean_interval->confidence};
    }
    result.metrics.push_back(std::move(metric));
  }
}

}  // namespace warpmark::serving
