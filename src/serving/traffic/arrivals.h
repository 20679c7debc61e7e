// When requests are due. Open loop: at times that do not ask how the server does, made before the run, absolute, so
// that no lateness adds up. Closed loop: as soon as an earlier request of the same user has ended. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

inline constexpr double kMostRate = 1e6;  ///< requests/s

enum class ArrivalKind {
  closed,    ///< a fixed number of users, each with one request at a time
  constant,  ///< equal distances
  poisson,   ///< independent arrivals: exponential distances
  gamma,     ///< distances of a gamma law: burstier than Poisson with a shape below 1
  ramp,      ///< Poisson arrivals whose rate goes from `rate` to `rate_end` in a straight line over the run
  trace,     ///< times from a file
};

struct Arrivals {
  ArrivalKind kind = ArrivalKind::closed;
  double rate = 0;      ///< requests/s
  double rate_end = 0;  ///< of a ramp
  double shape = 1;     ///< of gamma: 1 is Poisson
};

/// "poisson", "constant", "gamma:0.25", "ramp:100" (up or down to 100 requests/s).
[[nodiscard]] Result<Arrivals> parse_arrivals(std::string_view text, double rate);
[[nodiscard]] std::string to_text(const Arrivals& arrivals);

/// Nanoseconds after the start, ascending: all below `duration_s`, at most `most`. A Poisson process is not rescaled to
/// have exactly rate x duration arrivals: its count varies, as that of real traffic does.
[[nodiscard]] std::vector<std::int64_t> due_times_ns(const Arrivals& arrivals, double duration_s, std::int64_t most,
                                                     std::uint64_t seed);

}  // namespace warpmark::serving
