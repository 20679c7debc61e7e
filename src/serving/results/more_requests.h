// How a load gets as many requests as a number needs: a command's option with its value. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace warpmark::serving {

struct LoadLimits {
  double duration_s = 0;           ///< of --max-time-per-run; 0 without
  std::int64_t most_requests = 0;  ///< of --max-requests-per-run; 0 without
  double wall_s = 0;               ///< that the load took
  bool everything_sent = false;    ///< it ended as all requests were sent, not by its time
};

/// "--max-time-per-run 5m" or "--max-requests-per-run 320" for so many times the requests; empty where the load was
/// bounded by neither.
[[nodiscard]] std::string option_for_more(const LoadLimits& limits, double times);

/// "needs 299 requests, have 60: --max-time-per-run 5m".
[[nodiscard]] std::string needs_more(const LoadLimits& limits, std::int64_t needed, std::int64_t have);

}  // namespace warpmark::serving
