// What `warpmark scale` shows, with its plot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/build/scaling.h"
#include "report/formats/render.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;

ScalingPoint point_of(int workers, double median, double efficiency) {
  ScalingPoint point{.workers = workers, .throughput = {median}, .seconds = {100 / median}, .median = median};
  point.speed_up = {efficiency * workers, {}};
  point.efficiency = {efficiency, Interval{efficiency - 0.01, efficiency + 0.01, 0.95}};
  point.grade = efficiency > 0.9 ? "excellent" : "good";
  point.gpu_memory_bytes = 8e9;
  point.energy_per_work_j = Ranged{2.5 * workers, {}};
  return point;
}

Scaling measured() {
  Scaling scaling{.command = "warpmark scale --gpus 1,2,4 -- ./train {gpus}", .worker = "GPU", .mode = "strong"};
  scaling.unit = "samples";
  scaling.energy_method = "Energy: counters.";
  scaling.points = {point_of(1, 100, 1), point_of(2, 190, 0.95), point_of(4, 340, 0.85)};
  scaling.fits = {{.law = "Amdahl", .parameters = {{"serial fraction", {0.055, {}}}}, .residual = 0.01}};
  scaling.forecasts = {{64, "Amdahl", {14.4, Interval{12, 17, 0.95}}, 0.225}};
  return scaling;
}

const Plot* plot_of(const Report& report) {
  for (const auto& section : report.sections) {
    for (const auto& block : section.blocks) {
      if (const auto* plot = std::get_if<Plot>(&block)) return plot;
    }
  }
  return nullptr;
}

TEST(ScalingReport, plots_what_was_measured_beside_the_law_and_the_ideal) {
  const auto report = build_report(measured());
  const auto* plot = plot_of(report);
  ASSERT_NE(plot, nullptr);
  ASSERT_EQ(plot->series.size(), 3U);
  EXPECT_EQ(plot->series[0].name, "measured");
  ASSERT_EQ(plot->series[0].points.size(), 3U);
  EXPECT_EQ(plot->series[0].points[2], (std::pair<double, double>{4, 3.4}));
  EXPECT_EQ(plot->series[1].name, "Amdahl");
  EXPECT_EQ(plot->series[1].points.back(), (std::pair<double, double>{64, 14.4}));
  EXPECT_EQ(plot->series[2].name, "ideal");
  EXPECT_EQ(plot->series[2].points.back(), (std::pair<double, double>{64, 64}));
}

TEST(ScalingReport, tells_every_point_and_leaves_no_plot_of_one) {
  auto scaling = measured();
  for (const char* format : {"text", "md", "html"}) {
    const std::string shown = render(build_report(scaling), format, {});
    for (const char* text : {"speedup", "85.0 %", "Energy: counters.", "Amdahl", "14.4"}) {
      EXPECT_THAT(shown, HasSubstr(text)) << format;
    }
  }
  scaling.points.resize(1);
  EXPECT_EQ(plot_of(build_report(scaling)), nullptr);
}

}  // namespace
}  // namespace warpmark::report
