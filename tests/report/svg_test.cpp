#include "report/draw/svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <utility>
#include <vector>

#include "report/draw/axis.h"
#include "report/draw/svg_canvas.h"
#include "report/formats/html.h"
#include "report/well_formed.h"
#include "support/text_measures.h"

namespace warpmark::report {
namespace {

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
  EXPECT_EQ(test::count_of(svg, "class=\"mark s0\""), 4U) << "three points and the legend";
  EXPECT_EQ(test::count_of(svg, "class=\"limit\""), 1U);
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
  EXPECT_EQ(test::count_of(svg, "class=\"mark s0\""), 2U);
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

/// Middle and half width of each label that is centred on a tick.
std::vector<std::pair<double, double>> centred_labels(const std::string& svg) {
  static const std::regex label(R"re(<text class="" x="([0-9.]+)" y="[0-9.]+" text-anchor="middle">([^<]*)<)re");
  std::vector<std::pair<double, double>> labels;
  for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
    labels.emplace_back(std::stod((*at)[1]), text_width((*at)[2].str()) / 2);
  }
  return labels;
}

TEST(RenderSvg, has_room_for_the_labels_of_every_axis) {
  Distribution distribution{"d",
                            {"throughput", "samples/s", false},
                            {{"A", {980, 1000, 1020}, 1000, {}}, {"B", {1040, 1060, 1079}, 1060, {}}}};
  Plot plot = curve();
  plot.x = {"throughput", "samples/s", false};
  plot.series[0].points = {{960, 1e10}, {1079, 5e11}};
  for (const auto& svg : {render_svg(distribution), render_svg(plot)}) {
    const auto labels = centred_labels(svg);
    ASSERT_GE(labels.size(), 2U) << svg;
    for (std::size_t i = 1; i < labels.size(); ++i) {
      EXPECT_GT(labels[i].first - labels[i].second, labels[i - 1].first + labels[i - 1].second) << svg;
    }
    EXPECT_LE(labels.back().first + labels.back().second, 680) << "the width of the drawing";
  }
}

TEST(StandaloneSvg, brings_its_style_for_light_and_dark) {
  const auto svg = standalone_svg(render_svg(curve()));
  EXPECT_EQ(markup_error(svg), "");
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
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

TEST(Scale, has_room_around_equal_values_and_none_below_zero) {
  const auto range = [](std::vector<double> values) { return Scale(values, {"x", "", false}).range(); };
  EXPECT_EQ(range({0, 0}).low, 0) << "no failures is not -0.6 to 0.6";
  EXPECT_EQ(range({0}).low, 0);
  EXPECT_GT(range({0}).high, 0);
  EXPECT_LE(range({8, 8, 8}).low, 4);
  EXPECT_GE(range({8, 8, 8}).high, 12);
  EXPECT_LT(range({-3, -3}).low, -3);
  // Differences within rounding once made steps that no double can count.
  for (const double value : {8.0, 7.0, 3.0, 100.0, 1e15}) {
    const std::vector<double> values{value, std::nextafter(value, 2 * value), value * (1 + 1e-12)};
    EXPECT_LE(Scale(values, {"x", "", false}).ticks(6).size(), 12U) << value;
  }
}

TEST(TickLabels, have_as_many_digits_as_tell_them_apart) {
  const auto labels = [](std::vector<double> ticks, const char* unit) { return tick_labels(ticks, unit); };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels({1.0400e-3, 1.0401e-3, 1.0402e-3}, "s"), (Labels{"1.04 ms", "1.0401 ms", "1.0402 ms"}));
  EXPECT_EQ(labels({0, 1e9, 2e9}, "B/s"), (Labels{"0 B/s", "1 GB/s", "2 GB/s"}));
  EXPECT_EQ(labels({1.00001, 1.00002}, ""), (Labels{"1.00001", "1.00002"}));
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
