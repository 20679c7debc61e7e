// Changes of a series, its band, and that machines are kept apart.
#include "validate/guard/trend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "validate/noise_models.h"

namespace warpmark::validate {
namespace {

TrendSeries series_of(const std::vector<double>& values, Better better = Better::lower) {
  TrendSeries series{.label = "job", .metric = "time", .unit = "s", .better = better};
  for (const double value : values) series.points.push_back({.point = {.session = "s", .n = 5, .value = value}});
  return series;
}

std::vector<double> joined(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(MarkChanges, finds_where_the_level_changed_and_for_better_or_worse) {
  const auto values = joined(quiet(20, 1), quiet(15, 1.2));
  auto lower = series_of(values), higher = series_of(values, Better::higher),
       neither = series_of(values, Better::neither);
  for (auto* series : {&lower, &higher, &neither}) mark_changes(*series, 0.05);
  ASSERT_EQ(lower.changes.size(), 1U);
  EXPECT_EQ(lower.changes[0].index, 20);
  EXPECT_NEAR(lower.changes[0].after / lower.changes[0].before, 1.2, 0.005);
  EXPECT_EQ(lower.changes[0].worse, true);
  EXPECT_EQ(higher.changes.at(0).worse, false);
  EXPECT_EQ(neither.changes.at(0).worse, std::nullopt);
  auto coarse = series_of(values);
  mark_changes(coarse, 0.3);
  EXPECT_TRUE(coarse.changes.empty());
}

TEST(MarkChanges, finds_a_step_that_three_sessions_tell_of) {
  for (const std::size_t before : {11U, 14U}) {
    auto series = series_of(joined(quiet(before, 1), quiet(3, 1.2)));
    mark_changes(series, 0.05);
    ASSERT_EQ(series.changes.size(), 1U) << before;
    EXPECT_EQ(series.changes[0].index, static_cast<std::int64_t>(before));
    EXPECT_EQ(series.changes[0].worse, true);
  }
  auto spike = series_of(joined(quiet(16, 1), quiet(1, 1.2)));
  mark_changes(spike, 0.05);
  EXPECT_TRUE(spike.changes.empty());
}

TEST(MarkChanges, finds_a_step_though_the_newest_session_is_off) {
  auto series = series_of(joined(joined(quiet(10, 1), quiet(9, 1.3)), {4.0}));
  mark_changes(series, 0.05);
  ASSERT_EQ(series.changes.size(), 1U);
  EXPECT_EQ(series.changes[0].index, 10);
  EXPECT_EQ(series.changes[0].worse, true);
  EXPECT_NEAR(series.changes[0].after, 1.3, 0.02) << "the level is without the session that is off";
}

TEST(MarkChanges, expects_the_next_session_near_the_newest_level) {
  auto series = series_of(joined(quiet(20, 1), quiet(15, 1.2)));
  mark_changes(series, 0.05);
  ASSERT_TRUE(series.level && series.band);
  EXPECT_NEAR(*series.level, 1.2, 0.005);
  EXPECT_EQ(series.band_from, 20);
  EXPECT_LT(series.band->low, 1.2);
  EXPECT_GT(series.band->high, 1.2);
  EXPECT_GT(series.band->low, 1.15);
  EXPECT_LT(series.band->high, 1.25);
  auto young = series_of(quiet(5, 1));
  mark_changes(young, 0.05);
  EXPECT_FALSE(young.band);
}

TEST(MarkChanges, never_compares_across_machines) {
  auto series = series_of(joined(quiet(20, 1), quiet(20, 2)));
  series.machines.push_back({.index = 20, .what = "driver 2 instead of 1"});
  mark_changes(series, 0.05);
  EXPECT_TRUE(series.changes.empty());
  EXPECT_EQ(series.band_from, 20);
  EXPECT_NEAR(*series.level, 2, 0.01);
}

TEST(MarkChanges, takes_any_values) {
  auto zeros = series_of(std::vector<double>(20, 0.0));
  mark_changes(zeros, 0.05);
  EXPECT_TRUE(zeros.changes.empty());
  auto empty = series_of({});
  mark_changes(empty, 0.05);
  EXPECT_TRUE(empty.changes.empty());
}

TEST(MarkChanges, tells_a_slow_drift_by_its_slope) {
  std::vector<double> creep;
  const auto noise = quiet(40);
  for (std::size_t i = 0; i < 40; ++i) creep.push_back(noise[i] * std::pow(1.004, static_cast<double>(i)));
  auto series = series_of(creep), higher = series_of(creep, Better::higher);
  mark_changes(series, 0.05);
  mark_changes(higher, 0.05);
  ASSERT_TRUE(series.drift);
  EXPECT_TRUE(series.drift->marked);
  EXPECT_EQ(series.drift->from, 0) << "the whole of it, whatever steps were found in it";
  EXPECT_NEAR(series.drift->per_session, 0.004, 0.0005);
  EXPECT_NEAR(series.drift->change, std::pow(1.004, 39) - 1, 0.02);
  EXPECT_LT(series.drift->change_interval.low, series.drift->change);
  EXPECT_EQ(series.drift->worse, true);
  EXPECT_EQ(higher.drift->worse, false);
}

TEST(MarkChanges, takes_no_step_and_no_noise_for_a_drift) {
  auto steady = series_of(quiet(40)), step = series_of(joined(quiet(20, 1), quiet(20, 1.2))),
       brief = series_of(quiet(9));
  for (auto* series : {&steady, &step, &brief}) mark_changes(*series, 0.05);
  ASSERT_TRUE(steady.drift && step.drift);
  EXPECT_FALSE(steady.drift->marked);
  EXPECT_FALSE(step.drift->marked) << "since the step it is steady";
  EXPECT_EQ(step.drift->from, 20);
  EXPECT_FALSE(brief.drift);
}

}  // namespace
}  // namespace warpmark::validate
