// The least work a computation must do, and the measured limits of the machine it runs on: the two sides of the
// roofline model (Williams, Waterman, Patterson, CACM 52(4), 2009).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpmark {

/// Of one launch.
struct Cost {
  double flops = 0;  ///< floating-point (or integer multiply-add) operations; 0 if it does none
  double bytes = 0;
  std::int64_t footprint_bytes = 0;  ///< memory that one input set with its outputs takes; decides rotation
  std::string flop_type;
  std::string link;  ///< bytes cross this link instead of the memory: "h2d", "d2h", "d2d"; else empty
  /// Metric that tells its speed, whatever limits it: "flop_rate", "bandwidth". Empty: by its intensity, see rate_of().
  std::string rate;
};

/// A limit measured in the same session.
struct Ceiling {
  std::string id;
  std::string device;  ///< "cpu", "cuda:0"
  std::string scope;
  double value = 0;  ///< B/s, FLOP/s, or seconds for "launch"
  std::string unit;
  std::string source;
  bool unreliable = false;
};

enum class Bound { memory, compute, latency, link, unknown };

/// Where a result stands under its peak.
struct Peak {
  Bound bound = Bound::unknown;
  double share = 0;             ///< the peak's time / the measured time: 1 is at the limit
  double flops_per_second = 0;  ///< achieved
  double bytes_per_second = 0;  ///< achieved
  double intensity = 0;         ///< FLOP per byte; 0 if bytes or flops are 0
  std::string ceiling;          ///< which measured limit: "bandwidth memory 12.3e9 B/s (copy ...)"
  /// Why there is no share; or, beside one, which limit is unknown: then the share is "at least".
  std::string reason;
  bool unreliable = false;
};

}  // namespace warpmark
