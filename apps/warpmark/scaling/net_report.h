// What `warpmark net client` and `warpmark net live` show.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "collectives/net/facts.h"
#include "collectives/net/session.h"
#include "model/report.h"

namespace warpmark::apps {

struct NetResult {
  std::vector<collectives::net::Throughput> throughputs;
  std::vector<collectives::net::Latency> latencies;
  std::optional<collectives::net::Datagrams> datagrams;
  std::optional<collectives::net::Interface> interface;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// A line as `iperf3 -i 1` prints it.
[[nodiscard]] std::string interval_line(const collectives::net::Second& second);
[[nodiscard]] Report build_net_report(const NetResult& result);
[[nodiscard]] Json net_json(const NetResult& result);

}  // namespace warpmark::apps
