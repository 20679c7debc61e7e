#include "report/svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/axis.h"
#include "report/well_formed.h"

namespace warpmark::report {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Plot curve() {
  return {"Bandwidth <of> \"cpu\" & co",
          {"size", "B", true},
          {"rate (B/s)", "B/s", true},
          {{"copy", {{4096, 1e10}, {65536, 5e11}, {1 << 20, 2e11}}},
           {"peak", {{4096, 7e11}, {1 << 20, 7e11}}, true, true}}};
}

TEST(RenderSvg, is_well_formed_and_escapes_names) {
  const auto svg = render_svg(curve());
  EXPECT_EQ(markup_error(svg), "");
  EXPECT_NE(svg.find("Bandwidth &lt;of&gt; &quot;cpu&quot; &amp; co"), std::string::npos);
  EXPECT_EQ(count_of(svg, "class=\"mark s0\""), 4U) << "three points and the legend";
  EXPECT_EQ(count_of(svg, "class=\"limit\""), 1U);
  EXPECT_NE(svg.find(">64 KiB<"), std::string::npos);
  EXPECT_NE(svg.find("4 KiB, 10.0 GB/s"), std::string::npos) << "hint of a point";
}

TEST(RenderSvg, leaves_out_points_that_the_axis_cannot_show) {
  Plot plot = curve();
  plot.series[0].points = {
      {0, 1e9}, {-1, 1e9}, {std::nan(""), 1}, {1024, std::numeric_limits<double>::infinity()}, {2048, 5}};
  const auto svg = render_svg(plot);
  EXPECT_EQ(markup_error(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(count_of(svg, "class=\"mark s0\""), 2U);
}

TEST(RenderSvg, draws_a_frame_without_any_series) {
  const auto svg = render_svg(Plot{"empty", {"x", "", false}, {"y", "s", true}, {}});
  EXPECT_EQ(markup_error(svg), "");
  EXPECT_NE(svg.find("class=\"axis\""), std::string::npos);
}

TEST(RenderSvg, draws_distributions_of_any_size) {
  Distribution distribution{"samples", {"deviation", "%"}, {}};
  distribution.groups.push_back({"one", {0.0}, 0, std::nullopt});
  distribution.groups.push_back({"equal", std::vector<double>(50, 0.01), 0.01, std::pair{0.01, 0.01}});
  distribution.groups.push_back({"none", {}, 0, std::nullopt});
  std::vector<double> many;
  for (int i = 0; i < 5000; ++i) many.push_back(0.001 * i);
  distribution.groups.push_back({std::string(200, 'w'), many, 2.5, std::pair{2.4, 2.6}});
  const auto svg = render_svg(distribution);
  EXPECT_EQ(markup_error(svg), "");
  EXPECT_LT(svg.size(), 20000U) << "5000 samples are not 5000 elements";
  EXPECT_NE(svg.find("…"), std::string::npos);
}

TEST(EscapeMarkup, leaves_only_what_xml_allows) {
  EXPECT_EQ(escape_markup("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_markup(std::string("\x01")), "\uFFFD");
  EXPECT_EQ(escape_markup("\xff µ \xe2\x82"), "\uFFFD µ \uFFFD\uFFFD");
}

TEST(Scale, covers_the_values_with_round_ticks) {
  const std::vector<double> values{0.3, 9.6};
  const Scale scale(values, {"x", "", false});
  EXPECT_EQ(scale.range().low, 0);
  EXPECT_EQ(scale.range().high, 10);
  EXPECT_EQ(scale.ticks(5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_DOUBLE_EQ(scale.place(5), 0.5);
  EXPECT_DOUBLE_EQ(scale.place(50), 1);
}

TEST(Scale, ticks_bytes_by_powers_of_two_and_rates_by_decades) {
  const std::vector<double> sizes{4096, 1 << 30};
  for (const double tick : Scale(sizes, {"x", "B", true}).ticks(8))
    EXPECT_EQ(std::exp2(std::round(std::log2(tick))), tick);
  const std::vector<double> rates{2e9, 3e12};
  EXPECT_EQ(Scale(rates, {"y", "B/s", true}).ticks(7).size(), 3U);
  const std::vector<double> near{2e9, 3e9};
  EXPECT_GE(Scale(near, {"y", "B/s", true}).ticks(7).size(), 2U);
}

TEST(Scale, survives_equal_and_absent_values) {
  for (const bool logarithmic : {false, true}) {
    for (const auto& values : {std::vector<double>{}, std::vector<double>{5, 5}, std::vector<double>{0},
                               std::vector<double>{std::nan("")}, std::vector<double>{1e-300, 1e300}}) {
      const Scale scale(values, {"x", "", logarithmic});
      EXPECT_LT(scale.range().low, scale.range().high);
      EXPECT_LE(scale.ticks(7).size(), 12U);
    }
  }
}

TEST(TickLabel, drops_zeros_that_say_nothing) {
  EXPECT_EQ(tick_label(1e10, "B/s"), "10 GB/s");
  EXPECT_EQ(tick_label(0.002, "%"), "0.2 %");
  EXPECT_EQ(tick_label(-0.01, "%"), "-1 %");
  EXPECT_EQ(tick_label(2e-6, "s"), "2 µs");
  EXPECT_EQ(tick_label(0.1, ""), "0.1");
}

}  // namespace
}  // namespace warpmark::report
