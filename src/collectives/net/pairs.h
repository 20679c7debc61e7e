// All pairs of hosts, one pair at a time, over MPI: latency of small messages and rate of large ones, and which host is
// slow. Whatever network MPI uses is what is measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "collectives/net/session.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"
#include "model/run.h"

namespace warpmark::collectives::net {

struct PairResult {
  int a = 0;
  int b = 0;
  double latency_s = 0;  ///< half a round trip of 8 bytes, median
  double bandwidth = 0;  ///< B/s, of messages of 4 MiB one way and back, median
};

struct Pairs {
  std::vector<std::string> hosts;  ///< by rank
  std::vector<PairResult> results;
};

/// Called by every process; process 0 gets the results, the others none.
[[nodiscard]] Result<Pairs> measure_pairs();

struct SlowHost {
  int rank = 0;
  double bandwidth = 0;  ///< of the middle one of its pairs, of two the better, B/s
  double usual = 0;      ///< median over pairs without it
  double latency_s = 0;
  double usual_latency_s = 0;
};
/// Two groups of hosts whose rates are clearly apart, as where half of them have another cable or card.
struct HostGroups {
  std::vector<int> slower;  ///< ranks
  double bandwidth = 0;     ///< median of all pairs with one of those, B/s
  double usual = 0;         ///< median of the pairs between the others, B/s
};
/// A host can what the best of its pairs reaches, as a pair is as slow as its slower end; pairs within one host do not
/// count. Two groups are told where all of the one can less than 80 % of all of the other, and the gap between the
/// pairs of the faster group and all others is twice what either differ among themselves (eight times where the faster
/// group is a single pair); each group has two hosts at least. Pure.
[[nodiscard]] std::optional<HostGroups> host_groups(const Pairs& pairs);

/// Hosts whose pairs have below 80 % of the others' bandwidth, or twice their latency; and those of the slower group
/// where there are two: a median says nothing where half of the hosts are slow. Pure.
[[nodiscard]] std::vector<SlowHost> slow_hosts(const Pairs& pairs);

extern const RecordOf<Pairs> kPairs;
[[nodiscard]] Json to_json(const Pairs& pairs);
[[nodiscard]] Result<Pairs> pairs_from_json(const Json& json);
[[nodiscard]] Report build_report(const Pairs& pairs);

// What was measured of a network as Runs, so that the store, compare, check, trend and accept know it. Pure.

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
