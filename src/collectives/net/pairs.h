// All pairs of hosts, one pair at a time, over MPI: latency of small messages and rate of large ones, and which host is
// slow. Whatever network MPI uses is what is measured.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/report.h"

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
/// Hosts whose pairs have below 80 % of the others' bandwidth, or twice their latency. Pure.
[[nodiscard]] std::vector<SlowHost> slow_hosts(const Pairs& pairs);

[[nodiscard]] Json to_json(const Pairs& pairs);
[[nodiscard]] Result<Pairs> pairs_from_json(const Json& json);
[[nodiscard]] Report build_report(const Pairs& pairs);

}  // namespace warpmark::collectives::net
