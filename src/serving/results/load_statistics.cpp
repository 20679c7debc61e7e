// The statistics of evaluate_load.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "serving/results/evaluate_load.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

constexpr double kPercentiles[] = {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
constexpr std::size_t kBatches = 20;

void fill_moments(LoadMetric& metric, std::span<const double> values) {
  metric.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) return;
  const auto n = static_cast<double>(values.size());
  metric.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - metric.mean) * (value - metric.mean);
  metric.stdev = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  metric.min = *least;
  metric.max = *most;
}

/// Student's interval around `center` from the spread of batch values; absent for fewer than two.
std::optional<Interval> batch_interval(std::span<const double> batches, double center, double confidence) {
  if (batches.size() < 2) return std::nullopt;
  const auto k = static_cast<double>(batches.size());
  const double mean = std::accumulate(batches.begin(), batches.end(), 0.0) / k;
  double squares = 0;
  for (const double value : batches) squares += (value - mean) * (value - mean);
  const double half = stats::t_quantile_of_tail((1 - confidence) / 2, k - 1) * std::sqrt(squares / (k - 1) / k);
  return Interval{center - half, center + half, confidence};
}

/// Every k-th, in their order.
std::vector<double> thinned(std::span<const double> samples) {
  constexpr std::size_t kMostKept = 20'000;
  const std::size_t step = samples.size() / kMostKept + 1;
  std::vector<double> kept;
  for (std::size_t i = 0; i < samples.size(); i += step) kept.push_back(samples[i]);
  return kept;
}

Percentile without_interval(double p, std::int64_t needed, std::int64_t n) {
  return {p, std::nullopt, std::nullopt, fmt::format("needs {} samples, has {}", needed, n)};
}

}  // namespace

LoadMetric request_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                          double confidence) {
  LoadMetric metric{.id = std::move(id), .unit = std::move(unit), .better = better};
  fill_moments(metric, samples);
  metric.samples = thinned(samples);
  std::vector<double> sorted = std::move(samples);
  std::sort(sorted.begin(), sorted.end());
  metric.interval_method = "order statistics of requests";
  for (const double p : kPercentiles) {
    const std::int64_t needed = stats::samples_needed(p, confidence);
    const auto ranks = metric.n < needed ? std::nullopt : stats::quantile_ranks(metric.n, p, confidence);
    if (!ranks) {
      metric.percentiles.push_back(without_interval(p, needed, metric.n));
      metric.percentiles.back().value = stats::quantile_of_sorted(sorted, p);
      continue;
    }
    metric.percentiles.push_back({p, stats::quantile_of_sorted(sorted, p),
                                  Interval{sorted[static_cast<std::size_t>(ranks->low - 1)],
                                           sorted[static_cast<std::size_t>(ranks->high - 1)], ranks->confidence},
                                  ""});
  }
  return metric;
}

LoadMetric pooled_metric(std::string id, PooledValues pooled, double confidence) {
  LoadMetric metric{.id = std::move(id), .unit = "s"};
  auto& values = pooled.values;
  fill_moments(metric, values);
  const std::size_t requests = pooled.ends.size(), batches = std::min(kBatches, requests);
  metric.interval_method = fmt::format("{} batches of consecutive requests", batches);
  // Of each percentile the values of the batches. They are sorted where they are: there may be millions.
  std::vector<std::vector<double>> of_batches(std::size(kPercentiles));
  for (std::size_t batch = 0, begin = 0; batch < batches; ++batch) {
    // The first request of the next one is the least i with i * batches / requests > batch.
    const std::size_t next = ((batch + 1) * requests + batches - 1) / batches, end = pooled.ends[next - 1];
    const std::span<double> part(values.data() + begin, end - begin);
    begin = end;
    if (part.empty()) continue;
    std::sort(part.begin(), part.end());
    for (std::size_t i = 0; i < of_batches.size(); ++i) {
      of_batches[i].push_back(stats::quantile_of_sorted(part, kPercentiles[i]));
    }
  }
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < of_batches.size(); ++i) {
    const double p = kPercentiles[i];
    const std::int64_t needed = stats::samples_needed(p, confidence);
    if (metric.n < needed) {
      metric.percentiles.push_back(without_interval(p, needed, metric.n));
      if (metric.n > 0) metric.percentiles.back().value = stats::quantile_of_sorted(values, p);
      continue;
    }
    Percentile percentile{p, stats::quantile_of_sorted(values, p), std::nullopt, ""};
    percentile.interval = batch_interval(of_batches[i], *percentile.value, confidence);
    if (!percentile.interval) percentile.reason = "one request alone has no spread between requests";
    metric.percentiles.push_back(std::move(percentile));
  }
  return metric;
}

LoadMetric rate_metric(std::string id, std::string unit, double rate, std::span<const double> parts,
                       double confidence) {
  LoadMetric metric{.id = std::move(id), .unit = std::move(unit), .better = Better::higher};
  fill_moments(metric, parts);
  metric.mean = rate;
  metric.mean_interval = batch_interval(parts, rate, confidence);
  const bool all = std::all_of(parts.begin(), parts.end(), [](double part) { return part > 0; });
  if (all) metric.samples.assign(parts.begin(), parts.end());  // a part without anything says that the run was short
  return metric;
}

void WarmupSeries::add(double value, std::int64_t at_ns) {
  if (in_batch_ == 0) begins_ns_.push_back(at_ns);
  sum_ += value;
  if (++in_batch_ < kBatch) return;
  means_.push_back(sum_ / static_cast<double>(kBatch));
  sum_ = 0;
  in_batch_ = 0;
}

std::size_t WarmupSeries::batches_left_out() const {
  constexpr std::size_t kLeast = 10;
  if (means_.size() < kLeast) return 0;
  double sum = 0, squares = 0, best = HUGE_VAL;
  std::size_t best_at = 0;
  for (std::size_t i = means_.size(); i-- > 0;) {
    sum += means_[i];
    squares += means_[i] * means_[i];
    const auto n = static_cast<double>(means_.size() - i);
    if (i > means_.size() / 2) continue;
    const double score = std::max(squares - sum * sum / n, 0.0) / (n * n);
    if (score < best || (score == best && i < best_at)) best = score, best_at = i;
  }
  return best_at;
}

std::int64_t WarmupSeries::end_ns() const {
  const std::size_t left_out = batches_left_out();
  return left_out == 0 ? 0 : begins_ns_[left_out];
}

std::size_t warmup_length(std::span<const double> series) {
  WarmupSeries batches;
  for (const double value : series) batches.add(value, 0);
  return batches.batches_left_out() * WarmupSeries::kBatch;
}

}  // namespace warpmark::serving
