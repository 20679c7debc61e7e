// Whether the client of a load kept up. Plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serving/client/load_plan.h"

namespace warpmark::serving {

struct ClientReport {
  double send_lag_p50_s = 0, send_lag_p99_s = 0, send_lag_max_s = 0;
  double receive_lag_p50_s = 0, receive_lag_p99_s = 0, receive_lag_max_s = 0;
  bool kernel_times = false;
  double lag_limit_s = 1e-3;  ///< p99 of both lags may be at most this: judge_client() has the rule
  double busy_share = 0;
  double cpu_s = 0;
  std::optional<double> others_share;  ///< of the machine's CPU time, that other programs used
  bool trusted = true;
  std::vector<std::string> reasons;  ///< why it is not
  std::vector<ClientShare> shares;   ///< of several clients; empty for one
  [[nodiscard]] const char* verdict() const { return trusted ? "reliable" : "unreliable"; }
  /// Why it was late: "client", which was busy itself, or "machine", which did not run it in time; empty if reliable.
  [[nodiscard]] const char* cause() const { return trusted ? "" : busy_share > 0.5 ? "client" : "machine"; }
};

}  // namespace warpmark::serving
