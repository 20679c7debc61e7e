// A Trend for people: a table with sparklines, the changes, and a chart of each series.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/trend.h"

namespace warpmark::report {

/// `unicode` decides what sparklines are drawn with.
[[nodiscard]] Report build_report(const Trend& trend, bool unicode);

/// One self-contained HTML file with a chart of each series, for light and dark.
[[nodiscard]] std::string render_trend_html(const Trend& trend);

/// The chart as a file of its own, with its colours for light and dark.
[[nodiscard]] std::string render_trend_svg_file(const TrendSeries& series);

/// The chart for a page: points, levels between changes, the band of the next session, changes of the machine.
[[nodiscard]] std::string render_trend_svg(const TrendSeries& series);

/// At most `width` characters, each the mean of as many values: low to high.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode);

}  // namespace warpmark::report
