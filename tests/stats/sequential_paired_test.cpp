// What the joined test promises is a frequency, so it is counted, under noise that blinds a t test. Bounds leave three
// standard deviations of the count; bench/robust_simulation prints more.
#include "stats/tests/sequential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/tests/rank_and_t_tests.h"
#include "support/sanitized.h"

namespace warpmark::stats::sequential_paired_cases {
namespace {

const int kSequences = testing_support::trials(300);
constexpr std::size_t kMost = 60;

double unit(std::uint64_t seed, std::uint64_t i) {
  return (static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52;
}
double normal(std::uint64_t seed, std::uint64_t i) { return normal_quantile(unit(seed, i)); }
double two_modes(std::uint64_t seed, std::uint64_t i) {
  return (unit(seed + 1, i) < 0.4 ? (unit(seed + 2, i) < 0.5 ? -3.0 : 3.0) : 0.0) + 0.3 * normal(seed, i);
}
/// Student's t with 1 degree: neither mean nor variance.
double cauchy(std::uint64_t seed, std::uint64_t i) { return std::tan((unit(seed, i) - 0.5) * 3.141592653589793); }

using NoiseFunction = double (*)(std::uint64_t, std::uint64_t);

std::vector<double> series(int trial, double shift, NoiseFunction noise, std::size_t most = kMost) {
  std::vector<double> values;
  const auto seed = derive_seed(77, static_cast<std::uint64_t>(trial));
  for (std::uint64_t i = 0; i < most; ++i) values.push_back(shift + noise(seed, i));
  return values;
}

TEST(SequentialPaired, tells_the_mean_where_the_differences_lie_about_no_centre) {
  std::vector<double> differences;  // a little less in most rounds, much more in a quarter of them
  for (std::uint64_t i = 0; i < 300; ++i) {
    differences.push_back(-0.03 + 0.002 * normal(5, i) + (unit(6, i) < 0.25 ? 0.5 : 0.0));
  }
  const auto test = sequential_paired(differences, {}, {});
  ASSERT_TRUE(test.interval.has_value());
  EXPECT_LE(test.interval->low, test.centre);
  EXPECT_GE(test.interval->high, test.centre);
  EXPECT_GT(test.centre, 0) << "the mean is, though the middle is not";
}

TEST(SequentialPaired, keeps_its_promise_under_peeking_whatever_the_noise) {
  const double bound = 0.05 * kSequences + 3 * std::sqrt(kSequences * 0.05 * 0.95);
  for (const NoiseFunction noise : {normal, two_modes, cauchy}) {
    int alarms = 0, missed = 0;
    for (int trial = 0; trial < kSequences; ++trial) {
      const auto values = series(trial, 0, noise);
      bool alarm = false, miss = false;
      for (std::size_t n = 7; n <= values.size(); ++n) {
        const auto test = sequential_paired(std::span(values).first(n));
        alarm = alarm || test.p <= 0.05;
        miss = miss || (test.interval && (test.interval->low > 0 || test.interval->high < 0));
      }
      alarms += alarm;
      missed += miss;
    }
    EXPECT_LE(alarms, bound);
    EXPECT_LE(missed, bound);
  }
}

// Betting on coins multiplies what one has by something whose mean is 1: exactly, over all signs of three differences.
TEST(SequentialPaired, bets_on_signs_are_fair) {
  const double sizes[] = {0.3, 2, 1.1};
  const std::vector<double> disturbances{0.1, 0.0, 0.5};
  double sum = 0;
  for (int signs = 0; signs < 8; ++signs) {
    std::vector<double> values;
    for (int i = 0; i < 3; ++i) values.push_back((signs >> i) % 2 == 0 ? sizes[i] : -sizes[i]);
    sum += sign_evidence(values, disturbances, 0);
  }
  EXPECT_NEAR(sum / 8, 1, 1e-12);
}

TEST(SequentialPaired, finds_what_outliers_hide_from_a_t_test) {
  int by_t = 0, joined = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const auto values = series(trial, 0.6, two_modes);
    by_t += sequential_t(values).p <= 0.05;
    joined += sequential_paired(values).p <= 0.05;
  }
  EXPECT_GE(joined, 57);
  EXPECT_LE(by_t, 30);
}

TEST(SequentialPaired, costs_little_where_noise_is_normal) {
  double widths = 0, widths_of_t = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const auto values = series(trial, 0, normal, 40);
    const auto test = sequential_paired(values);
    const auto t = sequential_t(values);
    ASSERT_TRUE(test.interval && t.interval);
    widths += test.interval->high - test.interval->low;
    widths_of_t += t.interval->high - t.interval->low;
  }
  EXPECT_LT(widths, 1.12 * widths_of_t);
  EXPECT_GT(widths, widths_of_t);
}

TEST(SequentialPaired, interval_and_p_say_the_same) {
  for (int trial = 0; trial < 30; ++trial) {
    const auto values = series(trial, 0.5, two_modes);
    for (std::size_t n = 7; n <= values.size(); ++n) {
      const auto test = sequential_paired(std::span(values).first(n));
      ASSERT_TRUE(test.interval);
      if (test.p > 0.049 && test.p < 0.051) continue;
      const bool excluded = test.interval->low > 0 || test.interval->high < 0;
      EXPECT_EQ(excluded, test.p <= 0.05) << trial << " " << n << " " << test.p;
      EXPECT_LE(test.interval->low, test.centre);
      EXPECT_GE(test.interval->high, test.centre);
    }
  }
}

TEST(SequentialPaired, estimates_by_the_pseudo_median) {
  const auto values = series(5, 0.5, cauchy, 30);
  EXPECT_NEAR(sequential_paired(values).centre, pseudo_median(values).estimate, 1e-12);
}

TEST(SequentialPaired, trusts_quiet_rounds_more_where_it_is_told_which_they_are) {
  int reported = 0, untold = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> values, disturbances;
    const auto seed = derive_seed(3, static_cast<std::uint64_t>(trial));
    for (std::uint64_t i = 0; i < 25; ++i) {
      const bool busy = unit(seed + 9, i) < 0.6;
      disturbances.push_back(busy ? 0.5 + 0.1 * unit(seed + 4, i) : 0.01 * unit(seed + 4, i));
      values.push_back(0.25 + (busy ? 1.0 : 0.3) * normal(seed, i));
    }
    reported += sequential_paired(values, disturbances).p <= 0.05;
    untold += sequential_paired(values).p <= 0.05;
  }
  EXPECT_GE(reported, untold);
}

TEST(SequentialPaired, decides_equal_differences_as_the_t_test_does) {
  const std::vector<double> values(7, 0.02);
  EXPECT_EQ(sequential_paired(values).p, 1.0 / 32);
  ASSERT_TRUE(sequential_paired(values).interval);
  EXPECT_NEAR(sequential_paired(values).centre, 0.02, 1e-15);
  EXPECT_FALSE(sequential_paired(std::vector<double>{0.1, 0.2}).interval);
}

}  // namespace
}  // namespace warpmark::stats::sequential_paired_cases
