// What `warpmark net client` and `warpmark net live` show.
#pragma once

#include <string>
#include <vector>

#include "collectives/net/live.h"
#include "collectives/net/pairs.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"

namespace warpmark::apps {

struct NetResult {
  collectives::net::PathResult path;
  std::optional<collectives::net::Interface> interface;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// The titles above such lines.
[[nodiscard]] std::string interval_head(bool sends);
/// A line as `iperf3 -i 1` prints it.
[[nodiscard]] std::string interval_line(const collectives::net::Second& second);
[[nodiscard]] Report build_net_report(const NetResult& result);
extern const RecordOf<NetResult> kNetResult;  ///< "warpmark.net/1"

}  // namespace warpmark::apps
