// Goldens from SciPy 1.10 and NumPy.
#include "stats/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "stats/random.h"

namespace warpmark::stats {
namespace {

constexpr double kTimes[] = {12.1, 11.9, 12.4, 12.0, 30.5, 11.8, 12.2, 12.05, 11.95, 12.3, 12.15, 12.25};

// np.mean, np.std(ddof=1), np.median, scipy.stats.median_abs_deviation; d = x - mean, (d[:-1]*d[1:]).sum() /
// (d*d).sum()
TEST(Summarize, agrees_with_scipy) {
  const Summary summary = summarize(kTimes);
  EXPECT_EQ(summary.n, 12);
  EXPECT_EQ(summary.min, 11.8);
  EXPECT_EQ(summary.max, 30.5);
  EXPECT_NEAR(summary.median, 12.125, 1e-9);
  EXPECT_NEAR(summary.mean, 13.633333333333333, 1e-9);
  EXPECT_NEAR(summary.stdev, 5.314445722117531, 1e-9);
  EXPECT_NEAR(summary.mad, 0.15000000000000036, 1e-9);
  EXPECT_NEAR(summary.cv, 0.38981264465409765, 1e-9);
  ASSERT_TRUE(summary.autocorrelation.has_value());
  EXPECT_NEAR(*summary.autocorrelation, -0.1217485846306807, 1e-9);
  ASSERT_TRUE(summary.median_interval.has_value());
  EXPECT_EQ(summary.median_interval->low, 11.95);  // third smallest of 12 and third largest
  EXPECT_EQ(summary.median_interval->high, 12.3);
  EXPECT_NEAR(summary.median_interval->confidence, 1 - 2 * 79.0 / 4096, 1e-9);
  EXPECT_EQ(summary.outliers, std::vector<std::int64_t>{4});
}

// z = np.array([(i*7919) % 1000 for i in range(400)]); np.percentile(z, [90, 95, 99]), brute-force ranks
TEST(Summarize, gives_percentiles_with_intervals_where_the_sample_supports_them) {
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back((i * 7919) % 1000);
  const auto percentiles = summarize(samples).percentiles;
  ASSERT_EQ(percentiles.size(), 3U);
  const Percentile expected[] = {{0.9, 897.3, Interval{868, 925, 0.9547725797231364}, ""},
                                 {0.95, 947.1, Interval{925, 971, 0.9502490130285017}, ""},
                                 {0.99, 987.03, Interval{977, 999, 0.9612808870665179}, ""}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(percentiles[i].p, expected[i].p);
    ASSERT_TRUE(percentiles[i].value && percentiles[i].interval) << percentiles[i].reason;
    EXPECT_NEAR(*percentiles[i].value, *expected[i].value, 1e-9);
    EXPECT_EQ(percentiles[i].interval->low, expected[i].interval->low);
    EXPECT_EQ(percentiles[i].interval->high, expected[i].interval->high);
    EXPECT_NEAR(percentiles[i].interval->confidence, expected[i].interval->confidence, 1e-9);
    EXPECT_EQ(percentiles[i].reason, "");
  }
}

TEST(Summarize, leaves_out_percentiles_that_the_sample_cannot_support) {
  std::vector<double> samples(40);
  fill_uniform(samples, 1, 1.0, 2.0);
  const auto percentiles = summarize(samples).percentiles;
  ASSERT_EQ(percentiles.size(), 3U);
  EXPECT_TRUE(percentiles[0].value.has_value());
  EXPECT_FALSE(percentiles[1].value.has_value());
  EXPECT_EQ(percentiles[1].reason, "p95 needs at least 59 samples for a 95 % interval; there are 40");
  EXPECT_EQ(percentiles[2].reason, "p99 needs at least 299 samples for a 95 % interval; there are 40");
}

TEST(Summarize, says_little_about_few_samples) {
  const Summary none = summarize({});
  EXPECT_EQ(none.n, 0);
  EXPECT_EQ(none.percentiles.at(0).reason, "p90 needs at least 29 samples for a 95 % interval; there are 0");
  const Summary one = summarize(std::vector<double>{3.0});
  EXPECT_EQ(one.median, 3.0);
  EXPECT_EQ(one.stdev, 0.0);
  EXPECT_FALSE(one.median_interval || one.autocorrelation);
  EXPECT_EQ(one.percentiles.at(2).reason, "p99 needs at least 299 samples for a 95 % interval; there is 1");
  EXPECT_FALSE(summarize(std::vector<double>(5, 1.0)).median_interval.has_value());
}

TEST(Summarize, finds_no_spread_in_equal_samples) {
  const Summary summary = summarize(std::vector<double>(100, 0.1));  // 0.1 has no exact binary form
  EXPECT_EQ(summary.mad, 0);
  EXPECT_NEAR(summary.stdev, 0, 1e-16);
  EXPECT_FALSE(summary.autocorrelation.has_value());
  EXPECT_TRUE(summary.outliers.empty());
  EXPECT_EQ(summary.median_interval->low, summary.median_interval->high);
}

TEST(Summarize, keeps_its_precision_far_from_zero) {
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back(1e9 + i % 2);
  EXPECT_NEAR(summarize(samples).stdev, 0.5 * std::sqrt(1000.0 / 999.0), 1e-9);
}

TEST(Summarize, keeps_its_scale_when_a_coarse_timer_makes_most_samples_equal) {
  std::vector<double> samples(100, 1.0);
  samples[10] = samples[20] = samples[30] = 1.01;  // one step of the timer: no outlier
  samples[50] = 9.0;
  EXPECT_EQ(summarize(samples).mad, 0);
  EXPECT_EQ(summarize(samples).outliers, std::vector<std::int64_t>{50});
}

TEST(Summarize, flags_beyond_ten_robust_sigmas_and_not_at_them) {
  std::vector<double> samples = {-1, -1, 0, 1, 1, 14.8, -14.9};  // median 0, MAD 1
  EXPECT_EQ(summarize(samples).outliers, std::vector<std::int64_t>{6});
}

TEST(RunningMedian, equals_the_summary_at_every_size) {
  RunningMedian running;
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const double sample = std::floor(random_unit(5, i) * 50);  // with ties
    running.add(sample);
    samples.push_back(sample);
    ASSERT_EQ(running.median(), median(samples));
    ASSERT_EQ(running.interval(), median_interval(samples));
    ASSERT_EQ(running.interval(), summarize(samples).median_interval);
  }
}

/// Share of `trials` samples of size n whose 95 % interval covers the true median.
template <typename Distribution>
double coverage(Distribution distribution, double true_median, int n, int trials, std::uint64_t seed) {
  Random random(seed);
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i) samples.push_back(distribution(random));
    const auto interval = median_interval(samples);
    covered += interval->low <= true_median && true_median <= interval->high ? 1 : 0;
  }
  return static_cast<double>(covered) / trials;
}

// The true coverage is the interval's own confidence; the simulated share may miss it by four standard errors.
TEST(MedianInterval, covers_the_true_median_as_often_as_it_says) {
  constexpr int kTrials = 4000;
  for (const int n : {6, 11, 40, 101}) {
    std::vector<double> any(static_cast<std::size_t>(n));
    fill_uniform(any, 1, 0.0, 1.0);
    const double said = median_interval(any)->confidence;
    ASSERT_GE(said, 0.95);
    const double margin = 4 * std::sqrt(said * (1 - said) / kTrials);
    EXPECT_NEAR(coverage(std::normal_distribution<double>(), 0, n, kTrials, 11), said, margin) << n;
    EXPECT_NEAR(coverage(std::lognormal_distribution<double>(0, 1), 1, n, kTrials, 12), said, margin) << n;
    EXPECT_NEAR(coverage(std::exponential_distribution<double>(), std::log(2.0), n, kTrials, 13), said, margin) << n;
  }
}

TEST(Summarize, covers_the_true_p90_as_often_as_it_says) {
  constexpr int kTrials = 2000, kSamples = 120;
  int covered = 0;
  double said = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(kSamples);
    fill_uniform(samples, static_cast<std::uint64_t>(trial), 0.0, 1.0);
    const auto p90 = summarize(samples).percentiles.at(0);
    said = p90.interval->confidence;
    covered += p90.interval->low <= 0.9 && 0.9 <= p90.interval->high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, said, 4 * std::sqrt(said * (1 - said) / kTrials));
}

TEST(GeometricMean, is_that_of_values_above_0_and_absent_otherwise) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector{1.0, 4.0}).value(), 2);
  EXPECT_NEAR(geometric_mean(std::vector{1e-200, 1e-200, 1e-200}).value() / 1e-200, 1, 1e-12) << "their product is 0";
  EXPECT_FALSE(geometric_mean({}));
  EXPECT_FALSE(geometric_mean(std::vector{1.0, 0.0}));
  EXPECT_FALSE(geometric_mean(std::vector<double>{1.0, INFINITY}));
}

}  // namespace
}  // namespace warpmark::stats
