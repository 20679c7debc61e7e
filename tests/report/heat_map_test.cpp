// A heat map speaks of colours and frames where it is drawn, and of stars where it is written.
#include <gtest/gtest.h>

#include "report/formats/html.h"
#include "report/formats/markdown.h"
#include "report/formats/text.h"

namespace warpmark::report {
namespace {

Report report_with(bool marked) {
  HeatMap map{.title = "p50 (lower is better)",
              .row_axis = "precision",
              .column_axis = "batch",
              .mark = "on the front",
              .rows = {"f32"},
              .columns = {"1", "8"},
              .squares = {{{.value = 1.0, .text = "1 s", .marked = marked}, {.value = 2.0, .text = "2 s"}}}};
  Report report;
  report.sections.push_back({"Heat maps", {std::move(map)}});
  return report;
}

TEST(HeatMap, is_explained_by_the_colours_and_frames_of_html) {
  const auto html = render_html(report_with(true));
  EXPECT_NE(html.find("p50 (lower is better); framed: on the front; the stronger the colour, the larger the value"),
            std::string::npos);
  EXPECT_EQ(render_html(report_with(false)).find("framed:"), std::string::npos);
}

TEST(HeatMap, is_explained_by_the_stars_of_text) {
  for (const auto& text : {render_text(report_with(true), {}), render_markdown(report_with(true))}) {
    EXPECT_NE(text.find("p50 (lower is better); "), std::string::npos) << text;
    EXPECT_NE(text.find("on the front"), std::string::npos) << text;
    EXPECT_NE(text.find("1 s"), std::string::npos) << text;
    EXPECT_EQ(text.find("colour"), std::string::npos) << text;
  }
  EXPECT_EQ(render_text(report_with(false), {}).find("front"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::report
