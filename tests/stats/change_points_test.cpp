// Goldens: the expected vectors of Apache Otava's tests/tigerbeetle_test.py on its series of 365 results (data/
// tigerbeetle.txt), computed by that program; where `published` is off, by the program with its two defects mended.
#include "stats/change_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/files.h"
#include "stats/autocorrelation.h"
#include "stats/distributions.h"
#include "stats/random.h"

namespace warpmark::stats {
namespace {

using Indices = std::vector<std::int64_t>;

std::vector<double> tigerbeetle() {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/tests/stats/data/tigerbeetle.txt");
  EXPECT_TRUE(text.ok());
  std::istringstream lines(text.ok() ? *text : "");
  std::vector<double> series;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') series.push_back(std::stod(line));
  }
  return series;
}

Indices indices(const std::vector<ChangePoint>& points) {
  Indices result;
  for (const auto& point : points) result.push_back(point.index);
  return result;
}

Indices published(double max_p, double magnitude) {
  return indices(
      change_points(tigerbeetle(), {.window = 30, .max_p = max_p, .min_magnitude = magnitude, .published = true}));
}

TEST(ChangePoints, are_those_of_otava_when_computed_as_published) {
  ASSERT_EQ(tigerbeetle().size(), 365U);
  EXPECT_EQ(published(0.01, 0.05), (Indices{15, 71}));
  EXPECT_EQ(published(0.05, 0.05), (Indices{15, 71}));
  EXPECT_EQ(published(0.1, 0.05), (Indices{10, 11, 15, 71, 363}));
  EXPECT_EQ(published(0.2, 0.05), (Indices{10, 11, 15, 71}));
  EXPECT_EQ(published(0.1, 0.01), (Indices{10,  11,  15,  28,  29,  35,  37,  48,  49,  61,  71,  95,  117, 131,
                                           142, 148, 165, 169, 192, 206, 212, 260, 265, 268, 278, 282, 363}));
  EXPECT_EQ(published(0.01, 0), (Indices{15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260}));
  EXPECT_EQ(published(0.001, 0), (Indices{15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260}));
  EXPECT_EQ(published(0.0001, 0), (Indices{71, 95, 117, 131, 142, 148, 192, 212}));
  EXPECT_EQ(published(0.00001, 0), (Indices{71, 95, 131, 192, 212}));
}

TEST(ChangePoints, with_the_defects_mended_lose_what_only_the_defects_found) {
  const auto series = tigerbeetle();
  const auto mended = [&](std::int64_t window, double max_p, double magnitude) {
    return indices(change_points(
        series, {.window = window, .max_p = max_p, .min_magnitude = magnitude, .autocorrelation = false}));
  };
  EXPECT_EQ(mended(50, 0.001, 0), (Indices{15, 61, 71, 95, 117, 131, 192, 212}));
  EXPECT_EQ(mended(50, 0.001, 0.05), (Indices{15, 71}));
  EXPECT_EQ(mended(30, 0.001, 0), (Indices{15, 61, 71, 95, 117, 131, 142, 148, 192, 212}));  // without 260
}

/// Stationary AR(1) noise around 100 with a coefficient of variation `cv`; `step` is added from the middle on.
std::vector<double> noise(int trial, std::size_t n, double rho, double cv, double step = 0) {
  std::vector<double> series;
  const auto seed = derive_seed(23, static_cast<std::uint64_t>(trial));
  double state = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double fresh = normal_quantile((static_cast<double>(random_bits(seed, i) >> 12) + 0.5) * 0x1p-52);
    state = i == 0 ? fresh : rho * state + std::sqrt(1 - rho * rho) * fresh;
    series.push_back(100 * (1 + cv * state) + (i >= n / 2 ? step : 0));
  }
  return series;
}

double share_with_changes(double rho, double cv, const ChangePointOptions& options, std::size_t n = 100) {
  constexpr int kTrials = 1000;
  int found = 0;
  for (int trial = 0; trial < kTrials; ++trial) found += !change_points(noise(trial, n, rho, cv), options).empty();
  return static_cast<double>(found) / kTrials;
}

TEST(ChangePoints, are_rare_in_constant_series_however_they_are_correlated) {
  for (const double rho : {0.0, 0.3, 0.6}) {
    const double share = share_with_changes(rho, 0.02, {});
    RecordProperty("constant_series_with_changes_rho_" + std::to_string(rho), std::to_string(share));
    EXPECT_LE(share, 0.05) << "rho " << rho;
    const double any_size = share_with_changes(rho, 0.02, {.min_magnitude = 0});
    RecordProperty("without_a_smallest_magnitude_rho_" + std::to_string(rho), std::to_string(any_size));
    EXPECT_LE(any_size, 0.05) << "rho " << rho;
  }
  EXPECT_GE(share_with_changes(0.6, 0.02, {.min_magnitude = 0, .autocorrelation = false}), 0.5) << "uncorrected";
}

TEST(ChangePoints, find_a_step_at_its_place) {
  int found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto points = change_points(noise(trial, 60, 0.2, 0.01, 6));
    found += points.size() == 1 && std::llabs(points[0].index - 30) <= 2;
    if (points.size() == 1) {
      EXPECT_NEAR(points[0].mean_after / points[0].mean_before, 1.06, 0.03);
    }
  }
  EXPECT_GE(found, kTrials * 95 / 100);
}

TEST(ChangePoints, find_several_steps_that_look_like_correlation) {
  int found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    auto series = noise(trial, 100, 0.2, 0.01);
    for (std::size_t i = 0; i < series.size(); ++i) series[i] += i / 20 % 2 == 1 ? 10 : 0;
    found += change_points(series).size() == 4;
  }
  EXPECT_GE(found, kTrials * 95 / 100);
}

TEST(ChangePoints, of_short_or_flat_series_are_none) {
  EXPECT_TRUE(change_points(std::vector<double>{}).empty());
  EXPECT_TRUE(change_points(std::vector<double>{1}).empty());
  EXPECT_TRUE(change_points(std::vector<double>{1, 2}).empty());
  EXPECT_TRUE(change_points(std::vector<double>(80, 3.0)).empty());
}

TEST(ChangePoints, find_a_step_without_noise) {
  std::vector<double> series(20, 100);
  std::fill(series.begin() + 12, series.end(), 110);
  EXPECT_EQ(indices(change_points(series)), (Indices{12}));
}

TEST(LagOne, is_unbiased_enough_to_correct_by) {
  for (const double rho : {0.0, 0.3, 0.6}) {
    double mean = 0;
    for (int trial = 0; trial < 400; ++trial) {
      const auto series = noise(trial, 100, rho, 0.02);
      mean += lag_one(series, {}) / 400;
    }
    EXPECT_NEAR(mean, rho, 0.03);
  }
}

TEST(LagOne, does_not_take_a_step_for_correlation) {
  double mean = 0;
  for (int trial = 0; trial < 200; ++trial) {
    mean += lag_one(noise(trial, 100, 0.3, 0.02, 20), std::vector<std::int64_t>{50}) / 200;
  }
  EXPECT_NEAR(mean, 0.3, 0.03);
}

TEST(VarianceInflation, never_makes_more_certain) {
  EXPECT_EQ(variance_inflation(-0.5), 1);
  EXPECT_NEAR(variance_inflation(0.6), 4, 1e-12);
}

}  // namespace
}  // namespace warpmark::stats
