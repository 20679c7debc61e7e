#include "collectives/stored_links.h"

#include <fmt/format.h>

#include "model/run_query.h"
#include "stats/sampled_metric.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

void add_run(std::vector<Run>& runs, const char* workload, Params params, const char* what, const LinkValue& value,
             std::int64_t bytes) {
  if (value.samples.empty()) return;
  const bool latency = std::string_view(what) == "latency";
  Run run{.id = {}, .index = static_cast<std::int64_t>(runs.size()), .workload = workload, .params = std::move(params)};
  run.params.set("what", std::string(what));
  run.params.set("bytes", latency ? std::int64_t{4} : bytes);
  run.device = "cuda";
  run.outcome = warpmark::Outcome::passed;
  run.converged = true;
  run.metrics.push_back(latency ? stats::sampled_metric("time", "s", Better::lower, value.samples)
                                : stats::sampled_metric("bandwidth", "B/s", Better::higher, value.samples));
  run.rounds = 1;
  run.timing.method = "cuda_event";
  runs.push_back(std::move(run));
}

}  // namespace

std::vector<Run> runs_of(const Links& links, std::int64_t bytes) {
  std::vector<Run> runs;
  for (const auto& pair : links.pairs) {
    Params params;
    params.set("from", std::int64_t{pair.from});
    params.set("to", std::int64_t{pair.to});
    add_run(runs, "gpu_link", params, "write", pair.write, bytes);
    add_run(runs, "gpu_link", params, "read", pair.read, bytes);
    add_run(runs, "gpu_link", params, "both", pair.both, bytes);
    add_run(runs, "gpu_link", params, "latency", pair.latency, bytes);
  }
  for (const auto& host : links.hosts) {
    Params params;
    params.set("gpu", std::int64_t{host.gpu});
    add_run(runs, "host_link", params, "to_gpu", host.to_gpu, bytes);
    add_run(runs, "host_link", params, "from_gpu", host.from_gpu, bytes);
    add_run(runs, "host_link", params, "both", host.both, bytes);
    add_run(runs, "host_link", params, "latency", host.latency, bytes);
  }
  return runs;
}

std::optional<MeasuredLinks> measured_links(const Session& session) {
  MeasuredLinks found;
  std::vector<double> rates;
  for (const Run& run : session.runs) {
    const Metric* rate = metric_of(run, "bandwidth");
    if (run.workload != "gpu_link" || rate == nullptr) continue;
    if (!run.params.has("what") || !run.params.has("from") || !run.params.has("to")) continue;
    const std::string& what = run.params.text("what");
    if (what != "write" && what != "read") continue;
    rates.push_back(rate->summary.median);
    if (rates.size() > 1 && rates.back() >= found.slowest) continue;
    found.slowest = rates.back();
    found.where = fmt::format("GPU {} -> GPU {}, {}", run.params.integer("from"), run.params.integer("to"), what);
  }
  if (rates.empty() || !(found.slowest > 0)) return std::nullopt;
  found.median = stats::median(rates);
  return found;
}

}  // namespace warpmark::collectives
