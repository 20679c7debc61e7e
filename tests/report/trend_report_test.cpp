// Trends as tables, sparklines and charts.
#include "report/build/trend.h"

#include <gtest/gtest.h>

#include "report/formats/markdown.h"
#include "report/formats/text.h"
#include "report/well_formed.h"

namespace warpmark::report {
namespace {

Trend sample_trend() {
  TrendSeries series{.label = "gemm m=8 <b>", .metric = "time", .unit = "s"};
  for (int i = 0; i < 20; ++i) {
    HistoryPoint point{.session = "s" + std::to_string(i), .n = 5, .value = i < 12 ? 0.1 : 0.13};
    point.started = "2026-01-" + std::to_string(i + 10) + "T00:00:00Z";
    point.commit = "0123456789abcdef" + std::to_string(i);
    series.points.push_back(
        {.point = point, .branch = "main", .machine = "m1", .interval = Interval{0.09, 0.14, 0.95}});
  }
  series.changes.push_back({.index = 12, .before = 0.1, .after = 0.13, .p = 0.0001, .worse = true});
  series.machines.push_back({.index = 5, .what = "driver 2 instead of 1"});
  series.level = 0.13;
  series.band = Interval{0.128, 0.132, 0.95};
  series.band_from = 12;
  return {.command = "warpmark trend", .branch = "main", .threshold = 0.05, .series = {series}};
}

TEST(Sparkline, shows_levels_and_not_noise) {
  EXPECT_EQ(sparkline({1, 1, 1, 2, 2, 2}, 6, true), "▁▁▁███");
  EXPECT_EQ(sparkline({1, 1, 2, 2}, 2, false), "_#");
  EXPECT_EQ(sparkline({1, 1.001, 1, 1.001}, 4, true), "▄▅▄▅");
  EXPECT_EQ(sparkline({}, 4, true), "");
  EXPECT_EQ(sparkline({0, 0}, 4, true), "▅▅");
  EXPECT_EQ(sparkline(std::vector<double>(100, 3), 20, false).size(), 20U);
}

TEST(TrendReport, names_changes_and_machines) {
  const auto text = render_text(build_report(sample_trend(), true), {.width = 80, .unicode = true});
  EXPECT_NE(text.find("+30.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("2026-01-22 0123456789"), std::string::npos) << text;
  EXPECT_NE(text.find("another machine from here on: driver 2 instead of 1"), std::string::npos) << text;
  const auto markdown = render_markdown(build_report(sample_trend(), true));
  EXPECT_NE(markdown.find("**+30.0 %**"), std::string::npos) << markdown;
}

TEST(TrendReport, begins_with_the_latest_change) {
  const auto text = render_text(build_report(sample_trend(), true), {.width = 80, .unicode = true});
  EXPECT_NE(text.find("gemm m=8 <b> time: +30.0 % at 2026-01-22 0123456789, p <0.001."), std::string::npos) << text;
  auto quiet = sample_trend();
  quiet.series[0].changes.clear();
  const auto none = render_text(build_report(quiet, true), {.width = 80, .unicode = true});
  EXPECT_NE(none.find("No change of 5.0 % or more in 1 series."), std::string::npos) << none;
}

TEST(TrendReport, says_that_there_are_too_few_sessions) {
  auto trend = sample_trend();
  trend.series[0].changes.clear();
  trend.series[0].machines.clear();
  trend.series[0].points.resize(4);
  for (std::size_t i = 2; i < 4; ++i) trend.series[0].points[i].point.value = 0.45;
  const auto text = render_text(build_report(trend, true), {.width = 200, .unicode = true});
  EXPECT_NE(text.find("Too few sessions to find a change in 1 series: a change needs 6 or more"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("No change"), std::string::npos) << text;
  trend.series.push_back(sample_trend().series[0]);
  trend.series[1].changes.clear();
  const auto both = render_text(build_report(trend, true), {.width = 200, .unicode = true});
  EXPECT_NE(both.find("No change of 5.0 % or more in 1 series. Too few sessions"), std::string::npos) << both;
}

TEST(TrendReport, labels_sessions_of_one_day_by_their_time) {
  auto trend = sample_trend();
  for (std::size_t i = 0; i < trend.series[0].points.size(); ++i) {
    trend.series[0].points[i].point.started = "2026-01-01T" + std::to_string(i / 2 + 10) + ":00:00Z";
  }
  const auto svg = render_trend_svg(trend.series.front());
  const auto first = svg.find(">2026-01-01</text>");
  ASSERT_NE(first, std::string::npos) << svg;
  EXPECT_EQ(svg.find(">2026-01-01</text>", first + 1), std::string::npos) << svg;
  EXPECT_NE(svg.find(">19:00</text>"), std::string::npos) << svg;
}

TEST(TrendReport, repeats_no_label_of_sessions_of_one_minute_and_commit) {
  auto trend = sample_trend();
  auto& points = trend.series[0].points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].point.started = "2026-01-01T10:00:" + std::to_string(10 + i) + "Z";
    points[i].point.commit = "abcdef0123456789";
  }
  const auto svg = render_trend_svg(trend.series.front());
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (auto at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(">abcdef01</text>"), 1U) << svg;
  EXPECT_EQ(count(">10:00</text>"), 0U) << svg;
  EXPECT_EQ(count(">10:00:" + std::to_string(9 + points.size()) + "</text>"), 1U) << svg;
}

TEST(TrendReport, draws_well_formed_charts) {
  const auto svg = render_trend_svg(sample_trend().series.front());
  EXPECT_EQ(markup_error(svg), "") << svg;
  EXPECT_NE(svg.find("class=\"box\""), std::string::npos);
  EXPECT_NE(svg.find("other machine"), std::string::npos);
  EXPECT_NE(svg.find("commit 0123456789"), std::string::npos);
  const auto html = render_trend_html(sample_trend());
  EXPECT_EQ(markup_error(html), "");
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  auto one = sample_trend();
  one.series[0].points.resize(1);
  one.series[0].changes.clear();
  one.series[0].machines.clear();
  one.series[0].band.reset();
  EXPECT_EQ(markup_error(render_trend_svg(one.series[0])), "");
  auto many = one;
  for (int i = 0; i < 3000; ++i) many.series[0].points.push_back(many.series[0].points[0]);
  EXPECT_LT(render_trend_svg(many.series[0]).size(), 200'000U);
}

}  // namespace
}  // namespace warpmark::report
