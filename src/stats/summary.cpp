#include "stats/summary.h"

#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/result.h"
#include "stats/distributions.h"

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

// Without promotion to long double the error stays below 1e-13, far under what a coverage needs, at a third of the
// time.
using Binomial = boost::math::binomial_distribution<double, DoublePolicy>;

// A coverage that equals the demand up to rounding (1 - 2/32 against 0.9375) meets it.
constexpr double kCoverageRounding = 1e-12;

bool is_open_ratio(double value) { return value > 0 && value < 1; }

/// P(k <= B <= n-k) for B ~ binomial(n, 1/2).
double median_coverage(std::int64_t n, std::int64_t k) {
  return 1 - 2 * boost::math::cdf(Binomial(static_cast<double>(n), 0.5), static_cast<double>(k - 1));
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

Moments moments_of(std::span<const double> values) {
  Moments moments{.n = static_cast<double>(values.size()), .mean = mean_of(values)};
  if (values.empty()) return moments;
  double residue = 0;
  for (const double value : values) {
    const double deviation = value - moments.mean;
    residue += deviation;
    moments.squares += deviation * deviation;
  }
  // The residue is what rounding left in the mean.
  moments.squares = std::max(0.0, moments.squares - residue * residue / moments.n);
  moments.mean += residue / moments.n;
  return moments;
}

double mean_of(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
    sum += std::log(value);
  }
  if (values.empty()) return std::nullopt;
  return std::exp(sum / static_cast<double>(values.size()));
}

std::optional<RankInterval> median_ranks(std::int64_t n, double confidence) {
  WM_CHECK(is_open_ratio(confidence));
  if (n < samples_needed(0.5, confidence)) return std::nullopt;
  // The normal approximation is off by at most a rank or two; the binomial decides.
  const double z = normal_quantile(0.5 + confidence / 2);
  const double count = static_cast<double>(n);
  const auto guess = static_cast<std::int64_t>((count - z * std::sqrt(count)) / 2);
  auto k = std::clamp<std::int64_t>(guess, 1, n / 2);
  double coverage = median_coverage(n, k);
  while (coverage < confidence - kCoverageRounding) coverage = median_coverage(n, --k);
  while (k < n / 2) {
    const double narrower = median_coverage(n, k + 1);
    if (narrower < confidence - kCoverageRounding) break;
    coverage = narrower;
    ++k;
  }
  return RankInterval{k, n + 1 - k, coverage};
}

std::optional<RankInterval> quantile_ranks(std::int64_t n, double p, double confidence) {
  WM_CHECK(is_open_ratio(p) && is_open_ratio(confidence));
  if (n < samples_needed(p, confidence)) return std::nullopt;
  // The fewest counts B in [1, n-1] that together have the wanted probability: the distribution has one peak, so take
  // the peak and then always the likelier neighbour.
  const double count = static_cast<double>(n);
  const double odds = p / (1 - p);
  const auto peak = std::clamp<std::int64_t>(static_cast<std::int64_t>((count + 1) * p), 1, n - 1);
  const double at_peak = boost::math::pdf(Binomial(count, p), static_cast<double>(peak));
  const auto below = [&](std::int64_t b, double mass) {  // P(B = b-1) from P(B = b)
    return b <= 1 ? 0.0 : mass * static_cast<double>(b) / (static_cast<double>(n - b + 1) * odds);
  };
  const auto above = [&](std::int64_t b, double mass) {  // P(B = b+1) from P(B = b)
    return b >= n - 1 ? 0.0 : mass * static_cast<double>(n - b) * odds / static_cast<double>(b + 1);
  };
  std::int64_t first = peak, last = peak;
  double coverage = at_peak;
  double next_below = below(first, at_peak), next_above = above(last, at_peak);
  while (coverage < confidence - kCoverageRounding && (first > 1 || last < n - 1)) {
    if (last >= n - 1 || (first > 1 && next_below >= next_above)) {
      coverage += next_below;
      --first;
      next_below = below(first, next_below);
    } else {
      coverage += next_above;
      ++last;
      next_above = above(last, next_above);
    }
  }
  return RankInterval{first, last + 1, std::min(coverage, 1.0)};
}

std::int64_t samples_needed(double p, double confidence) {
  WM_CHECK(is_open_ratio(p) && is_open_ratio(confidence));
  const auto coverage = [&](std::int64_t n) {
    return 1 - std::pow(p, static_cast<double>(n)) - std::pow(1 - p, static_cast<double>(n));
  };
  // The rarer tail alone gives a lower bound.
  const double bound = std::log1p(-confidence) / std::log(std::max(p, 1 - p));
  auto n = std::max<std::int64_t>(2, static_cast<std::int64_t>(bound) - 1);
  while (coverage(n) < confidence - kCoverageRounding) ++n;
  return n;
}

double quantile_of_sorted(std::span<const double> sorted, double p) {
  WM_CHECK(!sorted.empty() && p >= 0 && p <= 1);
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0 || below + 1 >= sorted.size()) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

Metric sampled_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                      std::vector<std::int64_t> round_sizes) {
  if (round_sizes.empty()) round_sizes = {static_cast<std::int64_t>(samples.size())};
  Metric metric{std::move(id), std::move(unit), better, std::move(samples), std::move(round_sizes), {}};
  metric.summary = summarize(metric.samples);
  return metric;
}

Metric metric_of_rounds(std::string id, std::string unit, Better better, std::vector<double> samples) {
  std::vector<std::int64_t> ones(samples.size(), 1);
  return sampled_metric(std::move(id), std::move(unit), better, std::move(samples), std::move(ones));
}

}  // namespace warpmark::stats
