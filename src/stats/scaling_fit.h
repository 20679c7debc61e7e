// Laws of scaling fitted to throughputs at several numbers of workers, with intervals, and what they predict.
//
//   Amdahl (AFIPS 1967)           speedup n / (1 + s (n - 1))            s: share of the work that is serial
//   Gustafson (CACM 31(5), 1988)  speedup n - s (n - 1)                  s: share of the time that is serial, weak
//   USL (Gunther, Guerrilla Capacity Planning, 2007)
//                                 n / (1 + a (n - 1) + b n (n - 1))       a: contention, b: exchange between all
//
// Noise multiplies, so least squares are done on logarithms; the throughput of one worker is a parameter like the
// others, as it is measured with the same noise. Parameters are within [0, 1], as the laws have them: where the best
// value of one lies outside, it is held at the limit and the others are fitted again. Intervals are the extent of the
// joint confidence region of all parameters, by the likelihood ratio with the F distribution (Bates, Watts, Nonlinear
// Regression Analysis, 1988, section 6.1): they hold all parameters and every forecast at the same time. Laws are
// compared by AICc (Burnham, Anderson, Model Selection and Multimodel Inference, 2002, section 2.4), and tested against
// repeated measurements for lack of fit (Draper, Smith, Applied Regression Analysis, 1998, section 2.1).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
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
  std::vector<double> parameters;   ///< s, or a and b
  std::vector<Interval> intervals;  ///< of each
  double single = 0;                ///< throughput of one worker
  double residual = 0;              ///< standard deviation of a measurement's logarithm
  std::string reason;               ///< why there is no fit: "not enough points: ..."; else empty
  double aicc = 0;                  ///< the lowest describes best; infinite where there are too few samples
  /// By number of workers: how far its mean is from the law, ratio of which 0 is on it.
  std::vector<std::pair<double, double>> off;
  double lack_of_fit_p = 1;                 ///< small: further off than repeated measurements differ
  std::vector<std::vector<double>> region;  ///< parameters on the border of the confidence region
  [[nodiscard]] bool ok() const { return reason.empty(); }
};

/// Samples of at least as many different numbers of workers as the law has parameters, and one more sample than
/// parameters and scale together; else a fit with a reason.
[[nodiscard]] ScalingFit fit_scaling(ScalingLaw law, std::span<const ScalingSample> samples, double confidence = 0.95);

/// Speedup against one worker.
[[nodiscard]] double speed_up(ScalingLaw law, std::span<const double> parameters, double workers);

struct Forecast {
  double workers = 0;
  double speed_up = 0;
  Interval interval;  ///< of the law's speedup; that the law goes on to hold is not in it
};
[[nodiscard]] Forecast forecast(const ScalingFit& fit, double workers, double confidence = 0.95);

/// Workers with which the USL predicts the most throughput, at least 1; nothing without exchange.
[[nodiscard]] std::optional<double> usl_peak(const ScalingFit& fit);

// What a run costs whatever its size, and what each item adds: a straight line through times of runs of several sizes.
// Noise multiplies a time, so squares are weighed by 1 / time^2 (weighted least squares; Draper, Smith, Applied
// Regression Analysis, 3rd ed. 1998, 9.2), with t intervals.

struct SizedTime {
  double items = 0;
  double seconds = 0;
};

struct FixedCost {
  double fixed_s = 0;
  double per_item_s = 0;
  Interval fixed_interval;
  Interval per_item_interval;
  double worst_misfit = 0;  ///< largest |mean time of a size / line - 1|: above 0.2 it is no straight line

  /// Share of a run of so many items that is the fixed cost, in [0, 1].
  [[nodiscard]] double fixed_share(double items) const;
};

/// Absent with fewer than three sizes, and for times that are not above 0.
[[nodiscard]] std::optional<FixedCost> fixed_cost(std::span<const SizedTime> times, double confidence = 0.95);

}  // namespace warpmark::stats
