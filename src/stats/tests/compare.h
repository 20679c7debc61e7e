// Are two runs of the same case different? The unit of analysis is the round, not the sample: samples of one round
// follow each other closely (autocorrelated) and share one set of buffers (one memory layout), so a test over samples
// takes the steadiness within a round for certainty about the machine and calls equal runs different far more often
// than alpha (Kalibera, Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013). Each round therefore counts once,
// by its median. What changes between sessions but not between the rounds of one (a reboot, another host) is beyond
// this test.
//
// Test: Welch's t (Biometrika 34, 1947) on the logarithms of the round medians; effects of a machine's state multiply a
// time, so logs are the scale on which noise is comparable, and the difference of their means is a ratio.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::stats {

enum class Difference {
  better,  ///< the candidate, in the metric's own direction
  worse,
  different,          ///< a metric that is neither better high nor low has changed
  indistinguishable,  ///< no difference beyond the noise between rounds; the interval tells what was ruled out
  undecidable,        ///< the data cannot tell: the reason says why and what would
};

[[nodiscard]] const char* name_of(Difference difference);

/// One run's samples of a metric, in rounds as in Metric.
struct Side {
  std::span<const double> samples;
  std::span<const std::int64_t> round_sizes;
};

struct CompareOptions {
  Better better = Better::lower;
  double alpha = 0.05;  ///< the interval's confidence is 1 - alpha
};

struct Comparison {
  Difference difference = Difference::undecidable;
  std::string reason;  ///< why it is undecidable; else empty
  double ratio = 0;    ///< candidate / baseline, of the geometric means of the round medians; 0 if undecidable
  std::optional<Interval> ratio_interval;  ///< absent where the noise could not be estimated
  std::optional<double> p;                 ///< two-sided, of this metric alone
  std::optional<double> adjusted_p;        ///< set by decide_together
  Better better = Better::lower;
};

/// Rounds that each side needs: below three the noise is guessed from one difference.
inline constexpr std::int64_t kRoundsNeeded = 3;

/// Undecidable with fewer rounds, and with a round median that is not above 0. Where the medians of each side are all
/// equal there is no noise to test against: equal sides are indistinguishable; of unequal ones only the order is known,
/// so p is that of the exact permutation test, 2 / C(a+b, a) (4 rounds a side decide at 5 %, 3 do not).
[[nodiscard]] Comparison compare(const Side& baseline, const Side& candidate, const CompareOptions& options = {});

/// Median of each round; rounds without samples are left out. Nothing if the sizes do not add up to the samples.
[[nodiscard]] std::vector<double> round_medians(const Side& side);

/// Holm's step-down correction (Scand. J. Stat. 6, 1979): with it, the chance that any of several true "no difference"
/// is called different stays below alpha, however they depend on each other.
struct Holm {
  std::vector<double> adjusted;  ///< p values to compare with alpha, in the order given
  std::vector<bool> rejected;    ///< adjusted <= alpha
};
[[nodiscard]] Holm holm(std::span<const double> p, double alpha);

/// Decides all metrics of one comparison of two sessions with Holm's correction over those that have a p value.
/// Differences that do not survive become indistinguishable (undecidable where the p is a permutation's).
void decide_together(std::span<Comparison> comparisons, double alpha = 0.05);

inline constexpr double kLargestLog = 690;  // 10^299.7

[[nodiscard]] inline double ratio_of_log(double log) { return std::exp(std::clamp(log, -kLargestLog, kLargestLog)); }

/// The ratio less 1, exact near 0.
[[nodiscard]] inline double change_of_log(double log) { return std::expm1(std::clamp(log, -kLargestLog, kLargestLog)); }

}  // namespace warpmark::stats
