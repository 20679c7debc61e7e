// How good this client is on this machine: it measures the reference server, which says when it sent each event, at
// several loads. The difference between the client's times and the server's is the client's error; the network between
// them is the loopback.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

inline constexpr const char* kSelftestSchema = "warpmark.load_selftest/1";

struct SelftestPoint {
  std::int64_t streams = 0;
  double events_per_s = 0;  ///< asked for, all streams together
};

struct SelftestResult {
  SelftestPoint asked;
  std::int64_t streams = 0;  ///< most at a time
  double events_per_s = 0;   ///< arrived, in the steady part
  double seconds = 0;        ///< of that part
  std::int64_t failed = 0;
  std::int64_t requests = 0;
  /// From the server's sending of the first token to the client's time of it; of every read event.
  LoadMetric first_token_error, event_error;
  ClientReport client;
  double server_late_p99_s = 0;  ///< how late the server itself was against its script
  std::string note;
};

struct SelftestOptions {
  std::vector<SelftestPoint> points;
  double seconds = 5;  ///< each
  int client_cpu = -1;
  int server_cpu = -1;
  bool kernel_times = true;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const SelftestResult&)> done;
};

/// 200 streams with 10,000 events/s, 1,000 with 50,000, 9,000 with 100,000.
[[nodiscard]] std::vector<SelftestPoint> selftest_points();

[[nodiscard]] Result<std::vector<SelftestResult>> selftest(const SelftestOptions& options);

[[nodiscard]] Json to_json(const SelftestResult& result);

/// Two processors that this process may use, for client and server; -1 each where there is one only.
struct CpuPair {
  int client = -1;
  int server = -1;
};
[[nodiscard]] CpuPair separate_cpus();

}  // namespace warpmark::serving
