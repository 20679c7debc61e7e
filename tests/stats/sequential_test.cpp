// Seeded simulations: what the test promises is a frequency, so it is counted. Bounds leave three standard deviations
// of the count.
#include "stats/tests/sequential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::stats {
namespace {

constexpr int kSequences = 2000;
constexpr std::int64_t kMost = 100;

double normal(std::uint64_t seed, std::uint64_t i) {
  return normal_quantile((static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52);
}

std::vector<double> series(int trial, double mean, double (*noise)(std::uint64_t, std::uint64_t)) {
  std::vector<double> values;
  const auto seed = derive_seed(11, static_cast<std::uint64_t>(trial));
  for (std::uint64_t i = 0; i < kMost; ++i) values.push_back(mean + noise(seed, i));
  return values;
}

struct Peeked {
  int sequential = 0;
  int naive = 0;
};

/// Trials in which looking after every sample ever called the series different from 0.
Peeked peek(double (*noise)(std::uint64_t, std::uint64_t)) {
  Peeked found;
  for (int trial = 0; trial < kSequences; ++trial) {
    const auto values = series(trial, 0, noise);
    bool sequential = false, naive = false;
    for (std::size_t n = 2; n <= values.size(); ++n) {
      sequential = sequential || sequential_t(std::span(values).first(n)).p <= 0.05;
      naive = naive || (n >= 5 && one_sample_t(std::span(values).first(n)).p <= 0.05);
    }
    found.sequential += sequential;
    found.naive += naive;
  }
  return found;
}

TEST(SequentialT, keeps_its_promise_under_peeking_after_every_sample) {
  const Peeked found = peek(normal);
  EXPECT_LE(found.sequential, 0.05 * kSequences + 3 * std::sqrt(kSequences * 0.05 * 0.95));
  EXPECT_GE(found.naive, 0.25 * kSequences) << "this is what peeking does to a plain t test";
}

TEST(SequentialT, keeps_its_promise_for_bimodal_and_heavy_tailed_differences) {
  const auto bimodal = +[](std::uint64_t seed, std::uint64_t i) {
    return (random_bits(seed, 2 * i) % 2 == 0 ? 1.0 : -1.0) + 0.1 * normal(seed + 1, i);
  };
  // Student's t with 2 degrees: infinite variance.
  const auto heavy = +[](std::uint64_t seed, std::uint64_t i) {
    const double u = (static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52;
    return (2 * u - 1) / std::sqrt(2 * u * (1 - u));
  };
  const double bound = 0.05 * kSequences + 3 * std::sqrt(kSequences * 0.05 * 0.95);
  EXPECT_LE(peek(bimodal).sequential, bound);
  EXPECT_LE(peek(heavy).sequential, bound);
}

TEST(SequentialT, covers_the_mean_at_all_times_together) {
  int missed = 0;
  for (int trial = 0; trial < kSequences; ++trial) {
    const auto values = series(trial, 0.3, normal);
    bool out = false;
    for (std::size_t n = 2; n <= values.size(); ++n) {
      const auto interval = sequential_t(std::span(values).first(n)).interval;
      out = out || (interval && (interval->low > 0.3 || interval->high < 0.3));
    }
    missed += out;
  }
  EXPECT_LE(missed, 0.05 * kSequences + 3 * std::sqrt(kSequences * 0.05 * 0.95));
}

TEST(SequentialT, interval_and_p_say_the_same) {
  for (int trial = 0; trial < 50; ++trial) {
    const auto values = series(trial, 0.35, normal);
    for (std::size_t n = 2; n <= values.size(); ++n) {
      const auto test = sequential_t(std::span(values).first(n));
      if (std::fabs(test.p - 0.05) < 1e-9) continue;
      if (n < 7) {
        EXPECT_FALSE(test.interval) << "signs alone could do this";
        continue;
      }
      const bool excluded = test.interval && (test.interval->low > 0 || test.interval->high < 0);
      EXPECT_EQ(excluded, test.p <= 0.05) << n;
    }
  }
}

TEST(SequentialT, does_not_depend_on_the_unit) {
  auto values = series(3, 0.2, normal);
  const double p = sequential_t(values).p;
  for (double& value : values) value *= 1e-9;
  EXPECT_NEAR(sequential_t(values).p, p, 1e-9);
}

// By hand: differences 1, 2, 3 have t^2 = 12, nu = 2, r = 1 + 3; BF = 4^-1/2 ((1 + 6) / (1 + 6/4))^(3/2).
TEST(SequentialT, is_the_bayes_factor_of_t) {
  const std::vector<double> values{1, 2, 3};
  EXPECT_NEAR(sequential_t(values).e_value, 0.5 * std::pow(7 / 2.5, 1.5), 1e-12);
}

TEST(SequentialT, decides_equal_differences_by_their_signs) {
  std::vector<double> values(6, 0.02);
  EXPECT_EQ(sequential_t(values).p, 1.0 / 16);
  EXPECT_FALSE(sequential_t(values).interval);
  values.push_back(0.02);
  EXPECT_EQ(sequential_t(values).p, 1.0 / 32);
  ASSERT_TRUE(sequential_t(values).interval);
  EXPECT_NEAR(sequential_t(values).interval->low, 0.02, 1e-15);
  const std::vector<double> zeros(7, 0.0);
  EXPECT_EQ(sequential_t(zeros).p, 1);
  EXPECT_EQ(sequential_t(zeros).interval->high, 0);
}

TEST(SequentialHalfWidth, is_infinite_while_there_is_too_little_to_judge_by_and_shrinks_then) {
  EXPECT_TRUE(std::isinf(sequential_half_width(2, 1)));
  for (const std::int64_t n : {10, 20, 50, 500}) {
    EXPECT_LT(sequential_half_width(n, 0.02), sequential_half_width(n - 1, 0.02)) << n;
  }
}

}  // namespace
}  // namespace warpmark::stats
