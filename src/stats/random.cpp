#include "stats/random.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

/// In [0, 1): the low half of a hash serves the even element of a pair, the high half the odd one.
float unit_of_half(std::uint64_t bits, bool odd) {
  const auto half = static_cast<std::uint32_t>(odd ? bits >> 32 : bits);
  return static_cast<float>(static_cast<std::int32_t>(half >> 8)) * 0x1p-24F;
}

void resample(std::span<const double> samples, Random& random, std::vector<double>& into) {
  into.resize(samples.size());
  for (double& value : into) {
    // Multiply-shift maps 32 random bits to an index; its bias is below 2^-32 times the number of samples.
    value = samples[static_cast<std::size_t>(((random() >> 32) * samples.size()) >> 32)];
  }
}

/// One jackknife: sums of squares and cubes of the influences (n - 1)(mean - theta_i), divided by n^2 and n^3, so that
/// those of several samples add up.
struct Influence {
  double squares = 0;
  double cubes = 0;
};

template <typename Statistic>
Influence jackknife(std::span<const double> samples, Statistic statistic) {
  const auto n = static_cast<double>(samples.size());
  std::vector<double> values, rest(samples.begin() + 1, samples.end());
  for (std::size_t left_out = 0; left_out < samples.size(); ++left_out) {
    values.push_back(statistic(rest));
    if (left_out < rest.size()) rest[left_out] = samples[left_out];
  }
  double mean = 0;
  for (const double value : values) mean += value / n;
  Influence influence;
  for (const double value : values) {
    const double u = (n - 1) * (mean - value) / n;
    influence.squares += u * u;
    influence.cubes += u * u * u;
  }
  return influence;
}

Estimate finish(double value, std::vector<double> resampled, const Influence& influence, double confidence) {
  std::sort(resampled.begin(), resampled.end());
  if (resampled.front() == resampled.back()) return {value, {resampled.front(), resampled.back(), confidence}};
  // Half of the ties count as below, as a median has many.
  const auto below = std::lower_bound(resampled.begin(), resampled.end(), value) - resampled.begin();
  const auto not_above = std::upper_bound(resampled.begin(), resampled.end(), value) - resampled.begin();
  const auto count = static_cast<double>(resampled.size());
  const double share = (static_cast<double>(below) + static_cast<double>(not_above)) / (2 * count);
  const double bias = normal_quantile(std::clamp(share, 0.5 / count, 1 - 0.5 / count));
  const double acceleration = influence.squares > 0 ? influence.cubes / (6 * std::pow(influence.squares, 1.5)) : 0;
  const BcaLevels levels = bca_levels(bias, acceleration, confidence);
  return {value, {quantile_of_sorted(resampled, levels.low), quantile_of_sorted(resampled, levels.high), confidence}};
}

}  // namespace

void fill_uniform(std::span<float> values, std::uint64_t seed, float low, float high, std::uint64_t first) {
  const float width = high - low;
  std::size_t i = 0;
  if (first % 2 == 1 && !values.empty()) {
    values[i++] = low + width * unit_of_half(random_bits(seed, first / 2), true);
  }
  std::uint64_t pair = (first + i) / 2;
  for (; i + 1 < values.size(); i += 2, ++pair) {
    const std::uint64_t bits = random_bits(seed, pair);
    values[i] = low + width * unit_of_half(bits, false);
    values[i + 1] = low + width * unit_of_half(bits, true);
  }
  if (i < values.size()) values[i] = low + width * unit_of_half(random_bits(seed, pair), false);
}

void fill_uniform(std::span<double> values, std::uint64_t seed, double low, double high, std::uint64_t first) {
  const double width = high - low;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + width * random_unit(seed, first + i);
}

BcaLevels bca_levels(double bias, double acceleration, double confidence) {
  const auto level = [&](double z) {
    const double sum = bias + z;
    return normal_cdf(bias + sum / (1 - acceleration * sum));
  };
  const double z = normal_quantile((1 + confidence) / 2);
  return {level(-z), level(z)};
}

Estimate bca_median_ratio(std::span<const double> first, std::span<const double> second,
                          const BootstrapOptions& options) {
  WM_CHECK(first.size() >= 2 && second.size() >= 2 && options.resamples >= 100);
  const double below = median(first), above = median(second);
  Random random(options.seed);
  std::vector<double> drawn_first, drawn_second, resampled;
  for (std::int64_t i = 0; i < options.resamples; ++i) {
    resample(first, random, drawn_first);
    resample(second, random, drawn_second);
    resampled.push_back(median(drawn_second) / median(drawn_first));
  }
  const Influence of_first = jackknife(first, [&](std::span<const double> rest) { return above / median(rest); });
  const Influence of_second = jackknife(second, [&](std::span<const double> rest) { return median(rest) / below; });
  return finish(above / below, std::move(resampled),
                {of_first.squares + of_second.squares, of_first.cubes + of_second.cubes}, options.confidence);
}

}  // namespace warpmark::stats
