// What was measured of a network as Runs, so that the store, compare, check, trend and accept know it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/net/pairs.h"
#include "collectives/net/session.h"
#include "model/run.h"

namespace warpmark::collectives::net {

/// What one client measured towards one server.
struct PathResult {
  std::vector<Throughput> throughputs;
  std::vector<Latency> latencies;
  std::optional<Datagrams> datagrams;
};

/// Workloads "net_throughput" (peer, streams, direction; metric "bandwidth", a sample a second, and "retransmits"),
/// "net_latency" (peer, bytes; "time", a sample a round trip, and "jitter") and "net_datagrams" (peer; "time", "loss",
/// "jitter"). `peer` is what the user called the server.
[[nodiscard]] std::vector<Run> runs_of(const PathResult& path, const std::string& peer);

/// Workload "net_pair" (a, b: hosts; metrics "bandwidth" and "time", one sample each).
[[nodiscard]] std::vector<Run> runs_of(const Pairs& pairs);

}  // namespace warpmark::collectives::net
