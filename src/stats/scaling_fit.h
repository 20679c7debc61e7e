// Laws of scaling fitted to throughputs at several numbers of workers, with intervals, and what they foretell.
//
//   Amdahl (AFIPS 1967)           speed-up n / (1 + s (n - 1))            s: share of the work that is serial
//   Gustafson (CACM 31(5), 1988)  speed-up n - s (n - 1)                  s: share of the time that is serial, weak
//   USL (Gunther, Guerrilla Capacity Planning, 2007)
//                                 n / (1 + a (n - 1) + b n (n - 1))       a: contention, b: exchange between all
//
// Noise multiplies, so least squares are done on logarithms; the throughput of one worker is a parameter like the
// others, as it is measured with the same noise. Intervals are those of the profile likelihood with Student's t (Bates,
// Watts, Nonlinear Regression Analysis, 1988, section 6.1): every value that some parameters within the confidence
// region give. Parameters below 0 (more than linear speed-up) are allowed while fitting and cut off in intervals.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::stats {

enum class ScalingLaw { amdahl, gustafson, usl };

[[nodiscard]] const char* name_of(ScalingLaw law);

/// One measurement.
struct ScalingSample {
  double workers = 1;
  double throughput = 0;  ///< above 0, any unit
};

struct ScalingFit {
  ScalingLaw law = ScalingLaw::amdahl;
  std::vector<double> parameters;           ///< s, or a and b; as fitted, may be slightly below 0
  std::vector<Interval> intervals;          ///< of each, cut at 0
  double single = 0;                        ///< throughput of one worker
  double residual = 0;                      ///< standard deviation of a measurement's logarithm
  std::string reason;                       ///< why there is no fit: "not enough points: ..."; else empty
  std::vector<std::vector<double>> region;  ///< parameters on the border of the confidence region
  [[nodiscard]] bool ok() const { return reason.empty(); }
};

/// Samples of at least as many different numbers of workers as the law has parameters, and one more sample than
/// parameters and scale together; else a fit with a reason.
[[nodiscard]] ScalingFit fit_scaling(ScalingLaw law, std::span<const ScalingSample> samples, double confidence = 0.95);

/// Speed-up against one worker; parameters below 0 count as 0.
[[nodiscard]] double speed_up(ScalingLaw law, std::span<const double> parameters, double workers);

struct Forecast {
  double workers = 0;
  double speed_up = 0;
  Interval interval;  ///< of the law's speed-up; that the law goes on to hold is not in it
};
[[nodiscard]] Forecast forecast(const ScalingFit& fit, double workers, double confidence = 0.95);

/// Workers beyond which the USL foretells less throughput, not more; nothing without exchange.
[[nodiscard]] std::optional<double> usl_peak(const ScalingFit& fit);

}  // namespace warpmark::stats
