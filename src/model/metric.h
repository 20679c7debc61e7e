// A metric is all samples of one quantity, and what they support saying about it. docs/metrics.md tells what each
// number means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpmark {

enum class Better { lower, higher, neither };

/// Closed interval that covers the true value with at least `confidence` (a ratio).
struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A percentile, or the reason why this many samples cannot support it.
struct Percentile {
  double p = 0;  ///< 0.9, 0.95, 0.99
  std::optional<double> value;
  std::optional<Interval> interval;
  std::string reason;
  friend bool operator==(const Percentile&, const Percentile&) = default;
};

/// Statistics of the samples, in the metric's unit. Computed by stats::summarize.
struct Summary {
  std::int64_t n = 0;
  double min = 0;
  double max = 0;
  double median = 0;  ///< the value of the metric; of the rates of a load that of the whole window
  std::optional<Interval> median_interval;  ///< exact, from order statistics; absent with too few samples
  double mean = 0;
  double stdev = 0;  ///< Bessel-corrected; 0 for one sample
  double mad = 0;
  double cv = 0;  ///< stdev / |mean|
  std::optional<double> autocorrelation;
  std::vector<Percentile> percentiles;
  std::vector<std::int64_t> outliers;
  friend bool operator==(const Summary&, const Summary&) = default;
};

struct Metric {
  std::string id;
  std::string unit;
  Better better = Better::lower;
  std::vector<double> samples;
  std::vector<std::int64_t> round_sizes;
  Summary summary;
  friend bool operator==(const Metric&, const Metric&) = default;
};

}  // namespace warpmark
