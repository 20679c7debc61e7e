// Goldens: the expected vectors of Apache Otava's tests/tigerbeetle_test.py on its series of 365 results (data/
// tigerbeetle.txt), computed by that program; where `published` is off, by the program with its two defects fixed.
#include "stats/change_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "stats/change_point_simulation.h"

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

TEST(ChangePoints, with_the_defects_fixed_lose_what_only_the_defects_found) {
  const auto series = tigerbeetle();
  const auto fixed = [&](std::int64_t window, double max_p, double magnitude) {
    return indices(change_points(
        series, {.window = window, .max_p = max_p, .min_magnitude = magnitude, .autocorrelation = false}));
  };
  EXPECT_EQ(fixed(50, 0.001, 0), (Indices{15, 61, 71, 95, 117, 131, 192, 212}));
  EXPECT_EQ(fixed(50, 0.001, 0.05), (Indices{15, 71}));
  EXPECT_EQ(fixed(30, 0.001, 0), (Indices{15, 61, 71, 95, 117, 131, 142, 148, 192, 212}));  // without 260
}

TEST(ChangePoints, are_rare_in_constant_series_however_long_and_correlated) {
  constexpr int kTrials = 500;
  for (const double rho : {0.0, 0.3, 0.6}) {
    for (const std::size_t n : {10U, 14U, 17U, 25U, 50U, 100U}) {
      const SimulatedSeries constant{.n = n, .rho = rho};
      const auto name = fmt::format("rho_{}_of_{}", rho, n);
      const double share = share_with_changes(constant, {}, kTrials);
      RecordProperty("constant_series_with_changes_" + name, std::to_string(share));
      EXPECT_LE(share, 0.05) << name;
      const double any_size = share_with_changes(constant, {.min_magnitude = 0}, kTrials);
      RecordProperty("without_a_smallest_magnitude_" + name, std::to_string(any_size));
      EXPECT_LE(any_size, 0.05) << name;
    }
  }
  const ChangePointOptions uncorrected{.min_magnitude = 0, .autocorrelation = false};
  EXPECT_GE(share_with_changes({.n = 100, .rho = 0.6}, uncorrected, kTrials), 0.5);
}

TEST(ChangePoints, find_a_large_step_in_the_newest_sessions_of_a_short_series) {
  for (const double rho : {0.0, 0.6}) {
    for (const std::size_t n : {14U, 17U}) {
      for (const std::size_t last : {3U, 5U, 8U}) {
        const auto name = fmt::format("last {} of {}, rho {}", last, n, rho);
        const auto found = [&](double step, double cv) {
          return share_of_steps_found({.n = n, .rho = rho, .cv = cv, .step = step, .last = last}, {}, 200);
        };
        EXPECT_GE(found(0.2, 0.002), 0.99) << name;
        EXPECT_GE(found(0.2, 0.01), 0.98) << name;
        EXPECT_GE(found(0.2, 0.02), 0.96) << name;
        EXPECT_GE(found(0.1, 0.01), 0.96) << name;
      }
    }
  }
}

TEST(ChangePoints, are_never_one_session_that_is_off) {
  for (const double cv : {0.002, 0.02}) {
    for (const std::size_t n : {14U, 17U, 30U, 50U}) {
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 3, n - 2, n - 1}) {
        EXPECT_LE(share_with_changes({.n = n, .cv = cv, .spike = 0.2, .at = at}, {}, 200), 0.02)
            << fmt::format("value {} of {}, noise {}", at, n, cv);
      }
    }
  }
}

TEST(ChangePoints, find_a_regression_and_its_fixing) {
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    auto series = simulated({.n = 17, .cv = 0.005}, trial);
    for (std::size_t i = 7; i < 11; ++i) series[i] *= 1.2;
    found += indices(change_points(series)) == Indices{7, 11};
  }
  EXPECT_GE(found, 97);
}

TEST(ChangePoints, are_not_hidden_by_one_session_that_is_off) {
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto series = simulated({.n = 17, .cv = 0.005, .step = 0.2, .last = 5, .spike = 0.3, .at = 5}, trial);
    const auto points = change_points(series);
    if (indices(points) != Indices{12}) continue;
    ++found;
    EXPECT_NEAR(points[0].mean_before, 100, 1.5) << "the level is that of the other sessions";
  }
  EXPECT_GE(found, 95);
}

TEST(ChangePoints, are_not_hidden_by_a_newest_session_that_is_off) {
  for (const double off : {0.2, 0.5, 1.6, 3.0, 10.0}) {
    int found = 0, other = 0;
    for (int trial = 0; trial < 40; ++trial) {
      const auto series = simulated({.n = 20, .cv = 0.02, .step = 0.3, .last = 10, .spike = off - 1, .at = 19}, trial);
      const auto points = change_points(series);
      found += points.size() == 1 && points[0].index == 10;
      other += points.size() > 1;
    }
    EXPECT_GE(found, 38) << off;
    EXPECT_EQ(other, 0) << off;
  }
}

TEST(ChangePoints, find_a_step_at_its_place) {
  int found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto points = change_points(simulated({.n = 60, .rho = 0.2, .cv = 0.01, .step = 0.06, .last = 30}, trial));
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
    auto series = simulated({.rho = 0.2, .cv = 0.01}, trial);
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

TEST(ChangePoints, take_values_that_overflow_when_squared) {
  std::vector<double> series(20, 1e300);
  for (std::size_t i = 0; i < series.size(); ++i) series[i] *= i % 3 == 0 ? 1.01 : i < 12 ? -1 : 1;
  EXPECT_LE(change_points(series).size(), series.size());
}

}  // namespace
}  // namespace warpmark::stats
