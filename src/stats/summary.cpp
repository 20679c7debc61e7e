#include "stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "stats/moments.h"
#include "stats/order_statistics.h"

namespace warpmark::stats {
namespace {

constexpr double kPercentiles[] = {0.9, 0.95, 0.99};
constexpr double kOutlierMads = 14.826;
constexpr double kOutlierMeanDeviations = 12.533141373155;  // 10 sqrt(pi/2): the same ten sigmas

Interval values_at(std::span<const double> sorted, const RankInterval& ranks) {
  return {sorted[static_cast<std::size_t>(ranks.low - 1)], sorted[static_cast<std::size_t>(ranks.high - 1)],
          ranks.confidence};
}

Percentile percentile_of_sorted(std::span<const double> sorted, double p, double confidence) {
  Percentile percentile{p, {}, {}, {}};
  const auto n = static_cast<std::int64_t>(sorted.size());
  const auto ranks = quantile_ranks(n, p, confidence);
  if (!ranks) {
    percentile.reason = fmt::format("p{:g} needs at least {} samples for a {:g} % interval; there {} {}", p * 100,
                                    samples_needed(p, confidence), confidence * 100, n == 1 ? "is" : "are", n);
    return percentile;
  }
  percentile.value = quantile_of_sorted(sorted, p);
  percentile.interval = values_at(sorted, *ranks);
  return percentile;
}

std::optional<double> lag_one_autocorrelation(std::span<const double> samples, const Moments& moments) {
  if (samples.size() < 3 || moments.squares <= 0) return std::nullopt;
  double products = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    products += (samples[i] - moments.mean) * (samples[i + 1] - moments.mean);
  }
  return products / moments.squares;
}

/// Outlier threshold as a distance from the median.
double outlier_distance(std::span<const double> deviations, double mad) {
  if (mad > 0) return kOutlierMads * mad;
  const double sum = std::accumulate(deviations.begin(), deviations.end(), 0.0);
  return kOutlierMeanDeviations * sum / static_cast<double>(deviations.size());
}

}  // namespace

Summary summarize(std::span<const double> samples, double confidence) {
  WM_CHECK(std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); }));
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());

  Summary summary;
  summary.n = static_cast<std::int64_t>(samples.size());
  for (const double p : kPercentiles) summary.percentiles.push_back(percentile_of_sorted(sorted, p, confidence));
  if (samples.empty()) return summary;

  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.median = quantile_of_sorted(sorted, 0.5);
  if (const auto ranks = median_ranks(summary.n, confidence)) summary.median_interval = values_at(sorted, *ranks);

  const Moments moments = moments_of(samples);
  summary.mean = moments.mean;
  if (summary.n > 1) summary.stdev = std::sqrt(moments.squares / static_cast<double>(summary.n - 1));
  if (summary.mean != 0) summary.cv = summary.stdev / std::fabs(summary.mean);
  // Where all samples are equal, what is left of the squares is rounding.
  if (summary.min < summary.max) summary.autocorrelation = lag_one_autocorrelation(samples, moments);

  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double x : samples) deviations.push_back(std::fabs(x - summary.median));
  summary.mad = median(deviations);
  const double distance = outlier_distance(deviations, summary.mad);
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    if (deviations[i] > distance) summary.outliers.push_back(static_cast<std::int64_t>(i));
  }
  return summary;
}

double median(std::span<const double> samples) {
  if (samples.empty()) return 0;
  std::vector<double> copy(samples.begin(), samples.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  const double below = *std::max_element(copy.begin(), middle);
  return below + 0.5 * (*middle - below);
}

std::optional<Interval> median_interval(std::span<const double> samples, double confidence) {
  const auto ranks = median_ranks(static_cast<std::int64_t>(samples.size()), confidence);
  if (!ranks) return std::nullopt;
  std::vector<double> copy(samples.begin(), samples.end());
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(ranks->low - 1);
  const auto high = copy.begin() + static_cast<std::ptrdiff_t>(ranks->high - 1);
  std::nth_element(copy.begin(), low, copy.end());
  std::nth_element(low + 1, high, copy.end());  // low < high, as the interval is symmetric
  return Interval{*low, *high, ranks->confidence};
}

void RunningMedian::add(double sample) {
  WM_CHECK(std::isfinite(sample));
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), sample), sample);
}

double RunningMedian::median() const { return sorted_.empty() ? 0 : quantile_of_sorted(sorted_, 0.5); }

std::optional<Interval> RunningMedian::interval(double confidence) const {
  const auto ranks = median_ranks(size(), confidence);
  if (!ranks) return std::nullopt;
  return values_at(sorted_, *ranks);
}

}  // namespace warpmark::stats
