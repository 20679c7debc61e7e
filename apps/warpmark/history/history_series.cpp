#include "warpmark/history/history_series.h"

#include <algorithm>
#include <ostream>

#include "base/units.h"
#include "report/build/trend.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "validate/guard/series.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostPoints = 200'000;

constexpr std::size_t kShapePoints = 20;

/// The newest medians as a sparkline.
std::string shape_of(const validate::Series& series, bool unicode) {
  std::vector<double> values;
  const auto& points = series.points;
  for (std::size_t i = points.size() - std::min(points.size(), kShapePoints); i < points.size(); ++i) {
    values.push_back(points[i].median);
  }
  return report::sparkline(values, kShapePoints, unicode);
}

Table all_series(const std::vector<validate::Series>& all, bool unicode) {
  Table table{{{"benchmark"},
               {"metric"},
               {"sessions", Align::right},
               {"first", Align::left, 2},
               {"last", Align::left, 1},
               {"newest", Align::right},
               {"shape", Align::left, 1}},
              {}};
  for (const auto& series : all) {
    table.rows.push_back({{series.label},
                          {series.metric},
                          {report::format_count(static_cast<std::int64_t>(series.points.size()))},
                          {series.points.front().started.substr(0, 10), Tone::quiet},
                          {series.points.back().started.substr(0, 10), Tone::quiet},
                          {report::format_quantity(series.points.back().median, series.unit)},
                          {shape_of(series, unicode), Tone::quiet}});
  }
  return table;
}

Table points_of(const validate::Series& series, std::int64_t limit) {
  Table table{{{"started"},
               {"commit"},
               {"branch", Align::left, 1},
               {"value", Align::right},
               {"±", Align::right, 2},
               {"n", Align::right, 3},
               {"machine", Align::left, 4},
               {"session"}},
              {}};
  std::int64_t shown = 0;
  for (auto point = series.points.rbegin(); point != series.points.rend() && shown < limit; ++point, ++shown) {
    table.rows.push_back({{point->started},
                          {point->commit.substr(0, 10) + (point->dirty ? "*" : "")},
                          {point->branch, Tone::quiet},
                          {report::format_quantity(point->median, series.unit)},
                          {point->interval ? report::format_half_width(point->median, *point->interval) : ""},
                          {report::format_count(point->n)},
                          {point->fingerprint, Tone::quiet},
                          {point->session, Tone::quiet}});
  }
  return table;
}

}  // namespace

Result<int> show_series(Context& context, const ParsedOptions& options, store::Store& store) {
  std::int64_t limit = 20;
  if (options.has("--limit")) {
    WM_ASSIGN(limit, parse_integer(options.get("--limit")));
    if (limit < 1) return usage_error("--limit must be at least 1");
  }
  store::RunQuery query;
  query.metric = "*";
  query.limit = kMostPoints;
  WM_ASSIGN(auto points, store.find(query));
  const auto all = validate::series_of(std::move(points));
  if (all.empty()) {
    context.out << "nothing is stored yet; measure with: warpmark run\n";
    return kSuccess;
  }
  const auto render = render_options(context);
  const auto& words = options.positionals();
  if (words.size() < 2) {
    context.out << report::render_table(all_series(all, context.unicode), render);
    return kSuccess;
  }
  bool any = false;
  for (const auto& series : all) {
    if (!validate::matches_series(words[1], series.label, series.metric)) continue;
    context.out << (any ? "\n" : "") << series.label << ' ' << series.metric << '\n'
                << report::render_table(points_of(series, limit), render);
    any = true;
  }
  if (!any) return usage_error("no metric matches " + words[1], "`warpmark history series` shows what there is");
  return kSuccess;
}

}  // namespace warpmark::apps
