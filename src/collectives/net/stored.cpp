#include "collectives/net/stored.h"

#include "stats/sampled_metric.h"

namespace warpmark::collectives::net {
namespace {

Run run_of(const char* workload, Params params) {
  Run run{.id = {}, .workload = workload, .params = std::move(params)};
  run.device = "cpu";
  run.outcome = warpmark::Outcome::passed;
  run.converged = true;
  run.rounds = 1;
  run.timing.method = "clock_monotonic_raw";
  return run;
}

/// Whole seconds; of a test of less than two, what there is.
std::vector<double> rates_of(const Throughput& throughput) {
  std::vector<double> rates;
  for (const auto& second : throughput.intervals) {
    const double seconds = second.to_s - second.from_s;
    if (seconds > 0.5) rates.push_back(second.bytes / seconds);
  }
  if (rates.empty() && throughput.seconds > 0) rates.push_back(throughput.bytes / throughput.seconds);
  return rates;
}

void add(std::vector<Run>& runs, Run run) {
  run.index = static_cast<std::int64_t>(runs.size());
  runs.push_back(std::move(run));
}

}  // namespace

std::vector<Run> runs_of(const PathResult& path, const std::string& peer) {
  std::vector<Run> runs;
  Params common;
  common.set("peer", peer);
  for (const auto& one : path.throughputs) {
    Params params = common;
    params.set("streams", std::int64_t{one.streams});
    params.set("direction", std::string(one.reverse ? "from_server" : "to_server"));
    // Of the default nothing is said, so that its series goes on.
    if (one.block_bytes != kBlockBytes) params.set("block", static_cast<std::int64_t>(one.block_bytes));
    Run run = run_of("net_throughput", std::move(params));
    run.metrics.push_back(stats::sampled_metric("bandwidth", "B/s", Better::higher, rates_of(one)));
    if (!one.reverse) {
      run.metrics.push_back(
          stats::sampled_metric("retransmits", "", Better::lower, {static_cast<double>(one.retransmits)}));
    }
    if (!run.metrics.front().samples.empty()) add(runs, std::move(run));
  }
  for (const auto& one : path.latencies) {
    if (one.round_trips_s.empty()) continue;
    Params params = common;
    params.set("bytes", static_cast<std::int64_t>(one.bytes));
    Run run = run_of("net_latency", std::move(params));
    run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, one.round_trips_s));
    run.metrics.push_back(stats::sampled_metric("jitter", "s", Better::lower, {jitter(one.round_trips_s)}));
    add(runs, std::move(run));
  }
  if (path.datagrams && !path.datagrams->round_trips_s.empty()) {
    const auto& datagrams = *path.datagrams;
    if (datagrams.bytes != kDatagramBytes) common.set("bytes", static_cast<std::int64_t>(datagrams.bytes));
    Run run = run_of("net_datagrams", common);
    const double returned = static_cast<double>(datagrams.round_trips_s.size()) / datagrams.sent;
    run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, datagrams.round_trips_s));
    run.metrics.push_back(stats::sampled_metric("loss", "ratio", Better::lower, {1 - returned}));
    run.metrics.push_back(stats::sampled_metric("jitter", "s", Better::lower, {jitter(datagrams.round_trips_s)}));
    add(runs, std::move(run));
  }
  return runs;
}

std::vector<Run> runs_of(const Pairs& pairs) {
  std::vector<Run> runs;
  for (const auto& pair : pairs.results) {
    Params params;
    params.set("a", pairs.hosts[static_cast<std::size_t>(pair.a)]);
    params.set("b", pairs.hosts[static_cast<std::size_t>(pair.b)]);
    // Several ranks of one host would else be one series.
    params.set("ranks", std::to_string(pair.a) + "-" + std::to_string(pair.b));
    Run run = run_of("net_pair", std::move(params));
    run.metrics.push_back(stats::sampled_metric("bandwidth", "B/s", Better::higher, {pair.bandwidth}));
    run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, {pair.latency_s}));
    add(runs, std::move(run));
  }
  return runs;
}

}  // namespace warpmark::collectives::net
