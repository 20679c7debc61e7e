#include "serving/results/load_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kRounds = 10;

/// Its value, with the interval, is the one that the page of the load shows.
Metric metric_from(const LoadMetric& source, std::vector<double> samples) {
  std::vector<std::int64_t> sizes;
  const auto n = static_cast<std::int64_t>(samples.size()), rounds = std::min(kRounds, n);
  for (std::int64_t i = 0; i < rounds; ++i) sizes.push_back(n * (i + 1) / rounds - n * i / rounds);
  auto metric = stats::sampled_metric(source.id, source.unit, source.better, std::move(samples), std::move(sizes));
  const Percentile* half = percentile_of(source, 0.5);
  metric.summary.median = half != nullptr && half->value ? *half->value : source.mean;
  metric.summary.median_interval = half != nullptr ? half->interval : source.mean_interval;
  return metric;
}

void add(const ScenarioResult& result, const char* id, Run& run) {
  const LoadMetric* metric = metric_of(result, id);
  if (metric == nullptr) return;
  if (!metric->samples.empty()) {
    run.metrics.push_back(metric_from(*metric, metric->samples));
  } else if (metric->mean > 0 && metric->percentiles.empty()) {
    run.metrics.push_back(metric_from(*metric, {metric->mean}));
  }
}

}  // namespace

Run run_of(const LoadReport& report, const ScenarioResult& result, std::int64_t index) {
  Run run;
  run.id = fmt::format("{}.{}", report.id, index);
  run.index = index;
  run.workload = "serving";
  run.params.set("scenario", result.scenario);
  run.params.set("arrivals", result.arrivals);
  if (result.arrivals == "closed") {
    run.params.set("concurrency", result.users);
  } else {
    run.params.set("rate", result.rate);
  }
  if (result.batch > 1) run.params.set("batch", result.batch);
  if (result.turns > 1) run.params.set("turns", result.turns);
  for (const auto& [name, value] : result.parameters) run.params.set(name, value);
  // Address and version are what changes between two runs of one case.
  std::string version;
  for (const auto& [key, value] : report.target) {
    if (key == "engine_version") version = value;
    if (key != "base" && key != "engine_version" && key != "backend") run.params.set(key, value);
  }
  run.device = "server";
  run.mode = Mode::hot;
  for (const char* id : {"ttft", "e2e", "tpot", "ttft_from_due", "request_throughput", "output_throughput", "goodput",
                         "session", "tokens_per_joule", "gpu_memory", "output_throughput_per_gpu", "cost_per_request",
                         "cost_per_million_output_tokens"}) {
    add(result, id, run);
  }
  for (const auto& metric : result.metrics) {
    if (metric.id.find("_turn_") != std::string::npos) add(result, metric.id.c_str(), run);
    if (metric.id.starts_with("quality.")) run.metrics.push_back(metric_from(metric, {metric.mean}));
  }
  run.outcome = result.client.trusted ? Outcome::passed : Outcome::unreliable;
  if (!result.client.trusted) run.reason = "the client was unreliable: " + join(result.client.reasons, "; ");
  if (run.metrics.empty()) {
    run.outcome = Outcome::error;
    run.fault = ErrorKind::environment;
    run.reason = result.first_error.empty() ? "no request was completed" : result.first_error;
  }
  run.timing.method = result.client.kernel_times ? "kernel receive time" : "host clock";
  run.timing.resolution_s = 1e-9;
  run.stopped_because = result.stopped_because;
  run.converged = true;  // a load lasts as long as was asked for
  run.rounds = run.metrics.empty() ? 0 : static_cast<std::int64_t>(run.metrics.front().round_sizes.size());
  run.notes = {{"requests",
                fmt::format("{} completed, {} failed, {} censored", result.completed, result.failed, result.censored)},
               {"tokens", result.tokens.source}};
  if (!version.empty()) run.notes.push_back({"engine version", version});
  run.started = result.started;
  run.repro = report.command;
  return run;
}

}  // namespace warpmark::serving
