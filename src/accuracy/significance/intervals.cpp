#include "accuracy/significance/intervals.h"

#include <boost/math/distributions/beta.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::accuracy {
namespace {

double beta_quantile(double p, double a, double b) {
  return boost::math::quantile(boost::math::beta_distribution<double, stats::DoublePolicy>(a, b), p);
}

/// Rounding must not make a permutation that gives the same difference look smaller.
constexpr double kSameDifference = 1e-12;

double log_binomial(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

double clustered_standard_error(std::span<const double> differences, double mean, const Groups& groups) {
  const auto n = static_cast<double>(differences.size());
  double squares = 0;
  if (groups.are_single()) {
    for (const double d : differences) squares += (d - mean) * (d - mean);
    return std::sqrt(squares / (n - 1) / n);
  }
  for (const auto& members : groups.members()) {
    double sum = 0;
    for (const auto i : members) sum += differences[i] - mean;
    squares += sum * sum;
  }
  const auto clusters = static_cast<double>(groups.count());
  return std::sqrt(squares * clusters / (clusters - 1)) / n;
}

/// Tango's score for a difference of the shares: the share of pairs right in the first alone is fitted to it.
double score_of_difference(const McNemar& pairs, std::int64_t n, double difference) {
  const auto count = static_cast<double>(n), first = static_cast<double>(pairs.only_first),
             second = static_cast<double>(pairs.only_second);
  const double a = 2 * count, b = -first - second + (2 * count - second + first) * difference;
  const double c = -first * difference * (1 - difference);
  const double fitted = (std::sqrt(std::max(0.0, b * b - 4 * a * c)) - b) / (2 * a);
  const double variance = count * (2 * fitted + difference * (1 - difference));
  const double beyond = std::max(0.0, std::fabs(second - first - count * difference) - 1);
  if (beyond == 0) return 0;
  return variance > 0 ? beyond / std::sqrt(variance) : std::numeric_limits<double>::infinity();
}

}  // namespace

Interval clopper_pearson(double k, double n, double confidence) {
  if (!(n > 0)) return {0, 1, confidence};
  const double tail = (1 - confidence) / 2;
  return {k > 0 ? beta_quantile(tail, k, n - k + 1) : 0, k < n ? beta_quantile(1 - tail, k + 1, n - k) : 1, confidence};
}

Groups::Groups(std::span<const std::string> names) : examples_(names.size()) {
  std::map<std::string, std::size_t> known;
  std::vector<std::vector<std::uint32_t>> members;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = names[i].empty() ? known.end() : known.find(names[i]);
    if (found == known.end()) {
      if (!names[i].empty()) known.emplace(names[i], members.size());
      members.push_back({static_cast<std::uint32_t>(i)});
    } else {
      members[found->second].push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (members.size() < examples_) members_ = std::move(members);
}

void Groups::draw(std::uint64_t seed, std::uint64_t resample, std::vector<std::uint32_t>& into) const {
  into.clear();
  stats::Random random(stats::derive_seed(seed, resample));
  const std::size_t n = count();
  for (std::size_t i = 0; i < n; ++i) {
    const auto drawn = static_cast<std::size_t>(((random() >> 32) * n) >> 32);
    if (are_single()) {
      into.push_back(static_cast<std::uint32_t>(drawn));
    } else {
      into.insert(into.end(), members_[drawn].begin(), members_[drawn].end());
    }
  }
}

Interval percentile_interval(std::vector<double>& resampled, std::size_t units, double confidence) {
  std::sort(resampled.begin(), resampled.end());
  const auto n = static_cast<double>(units);
  double tail = (1 - confidence) / 2;
  if (units >= 2) tail = stats::normal_tail(std::sqrt(n / (n - 1)) * stats::t_quantile_of_tail(tail, n - 1));
  return {stats::quantile_of_sorted(resampled, tail), stats::quantile_of_sorted(resampled, 1 - tail), confidence};
}

ScoreInterval interval_of(const Measured& measured, std::size_t system, const Groups& groups,
                          const ResampleOptions& options) {
  const auto n = static_cast<double>(measured.examples);
  if (measured.is_share && groups.are_single() && measured.examples > 0) {
    const Interval interval = clopper_pearson(std::round(value_of(measured, system) * n), n, options.confidence);
    return {interval.low, interval.high, "exact"};
  }
  if (groups.count() < 2 || std::isnan(value_of(measured, system))) return {};
  std::vector<double> resampled;
  std::vector<std::uint32_t> rows;
  const auto offset = static_cast<std::uint32_t>(system * measured.examples);
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    groups.draw(options.seed, static_cast<std::uint64_t>(i), rows);
    for (auto& row : rows) row += offset;
    const double value = measured.value(rows);
    if (!std::isnan(value)) resampled.push_back(value);  // a sample may leave the metric undefined
  }
  const Interval interval = percentile_interval(resampled, groups.count(), options.confidence);
  if (!(interval.low < interval.high)) return {};  // samples that are all alike do not show how the score varies
  return {interval.low, interval.high, groups.are_single() ? "bootstrap" : "clustered bootstrap"};
}

McNemar mcnemar(std::int64_t only_first, std::int64_t only_second) {
  McNemar result{.only_first = only_first, .only_second = only_second};
  const auto n = static_cast<double>(only_first + only_second);
  const std::int64_t fewer = std::min(only_first, only_second);
  if (n == 0) return result;
  const double log_all = n * std::log(2.0);
  double tail = 0;
  for (std::int64_t i = 0; i <= fewer; ++i) tail += std::exp(log_binomial(n, static_cast<double>(i)) - log_all);
  const double point = std::exp(log_binomial(n, static_cast<double>(fewer)) - log_all);
  result.p = std::min(1.0, 2 * tail);
  result.mid_p = only_first == only_second ? 1 : std::min(1.0, 2 * tail - point);
  return result;
}

Interval paired_share_interval(const McNemar& pairs, std::int64_t n, double confidence) {
  const double z = stats::normal_quantile(0.5 + confidence / 2);
  const double estimate = static_cast<double>(pairs.only_second - pairs.only_first) / static_cast<double>(n);
  const auto limit = [&](double outer) {
    double inner = estimate;
    for (int i = 0; i < 60; ++i) {
      const double middle = (inner + outer) / 2;
      (score_of_difference(pairs, n, middle) <= z ? inner : outer) = middle;
    }
    return inner;
  };
  return {limit(-1), limit(1), confidence};
}

double unseen_mean(std::int64_t n, double confidence) {
  return 1 - std::pow((1 - confidence) / 2, 1 / static_cast<double>(n));
}

std::optional<MeanDifference> paired_means(const Measured& measured, std::size_t first, std::size_t second,
                                           const Groups& groups, double confidence) {
  if (measured.each.empty() || groups.count() < 2) return std::nullopt;
  const auto a = each_of(measured, first), b = each_of(measured, second);
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
  MeanDifference result;
  result.estimate = stats::mean_of(differences);
  result.degrees = static_cast<double>(groups.count()) - 1;
  result.standard_error = clustered_standard_error(differences, result.estimate, groups);
  const double half = result.standard_error * stats::t_quantile_of_tail((1 - confidence) / 2, result.degrees);
  result.interval = {result.estimate - half, result.estimate + half, confidence};
  if (result.standard_error > 0) {
    result.p = 2 * stats::t_tail(std::fabs(result.estimate) / result.standard_error, result.degrees);
  } else {
    result.p = result.estimate == 0 ? 1 : 0;
  }
  return result;
}

PairedBootstrap paired_bootstrap(const Measured& measured, std::size_t first, std::size_t second, const Groups& groups,
                                 const ResampleOptions& options) {
  const auto to_first = static_cast<std::uint32_t>(first * measured.examples);
  const auto to_second = static_cast<std::uint32_t>(second * measured.examples);
  std::vector<double> differences, relatives;
  std::vector<std::uint32_t> drawn, rows;
  PairedBootstrap result;
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    groups.draw(options.seed, static_cast<std::uint64_t>(i), drawn);
    const auto value_with = [&](std::uint32_t offset) {
      rows.assign(drawn.begin(), drawn.end());
      for (auto& row : rows) row += offset;
      return measured.value(rows);
    };
    const double of_first = value_with(to_first);
    const double difference = value_with(to_second) - of_first;
    if (std::isnan(difference)) continue;  // a sample may leave the metric undefined
    differences.push_back(difference);
    if (of_first != 0) relatives.push_back(difference / std::fabs(of_first));
    result.share_better += difference > 0 ? 1 : difference == 0 ? 0.5 : 0;
  }
  const auto count = static_cast<double>(options.resamples);
  result.share_better /= count;
  const double observed = value_of(measured, second) - value_of(measured, first);
  const auto moments = stats::moments_of(differences);
  result.standard_error = options.resamples > 1 ? std::sqrt(moments.variance()) : 0;
  double beyond = 1;
  for (const double difference : differences) {
    beyond += std::fabs(difference - moments.mean) >= std::fabs(observed) - kSameDifference ? 1 : 0;
  }
  result.p = beyond / (count + 1);
  result.interval = percentile_interval(differences, groups.count(), options.confidence);
  result.narrower = percentile_interval(differences, groups.count(), 2 * options.confidence - 1);
  if (relatives.size() == differences.size()) {
    result.relative = percentile_interval(relatives, groups.count(), options.confidence);
  }
  return result;
}

double approximate_randomization(const Measured& measured, std::size_t first, std::size_t second, const Groups& groups,
                                 const ResampleOptions& options) {
  std::vector<std::uint32_t> one = rows_of(measured, first), other = rows_of(measured, second);
  const double observed = std::fabs(measured.value(other) - measured.value(one));
  double beyond = 1;
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    stats::Random random(stats::derive_seed(options.seed, static_cast<std::uint64_t>(i)));
    std::uint64_t bits = 0;
    int left = 0;
    const auto exchanges = [&] {
      if (left == 0) {
        bits = random();
        left = 64;
      }
      --left;
      const bool yes = (bits & 1U) != 0;
      bits >>= 1U;
      return yes;
    };
    for (std::size_t g = 0; g < groups.count(); ++g) {
      if (!exchanges()) continue;
      if (groups.are_single()) {
        std::swap(one[g], other[g]);
        continue;
      }
      for (const auto example : groups.members()[g]) std::swap(one[example], other[example]);
    }
    const double difference = std::fabs(measured.value(other) - measured.value(one));
    beyond += difference >= observed - kSameDifference ? 1 : 0;
  }
  return beyond / (static_cast<double>(options.resamples) + 1);
}

std::optional<std::int64_t> examples_for_power(double difference, double standard_error, std::int64_t examples,
                                               double alpha, double power) {
  if (difference == 0 || !(standard_error > 0) || examples < 2) return std::nullopt;
  constexpr std::int64_t kMost = 1'000'000'000;
  const double stdev = standard_error * std::sqrt(static_cast<double>(examples));
  return stats::pairs_needed(stdev, std::fabs(difference), kMost, {.alpha = alpha, .power = power});
}

}  // namespace warpmark::accuracy
