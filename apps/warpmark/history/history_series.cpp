#include "warpmark/history/history_series.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "report/build/trend.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "validate/guard/series.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr std::size_t kShapePoints = 20;

/// The newest medians as a sparkline.
std::string shape_of(const store::PointSeries& series, bool unicode) {
  std::vector<double> values;
  const auto& points = series.points;
  for (std::size_t i = points.size() - std::min(points.size(), kShapePoints); i < points.size(); ++i) {
    values.push_back(points[i].median);
  }
  return report::sparkline(values, kShapePoints, unicode);
}

Table all_series(const validate::KeptPoints& kept, bool unicode) {
  Table table{{{"benchmark"},
               {"metric"},
               {"sessions", Align::right},
               {"first", Align::left, 2},
               {"last", Align::left, 1},
               {"newest", Align::right},
               {"shape", Align::left, 1}},
              {}};
  for (const auto& [name, series] : kept.series()) {
    table.rows.push_back({{name.first},
                          {name.second},
                          {report::format_count(static_cast<std::int64_t>(series.points.size()))},
                          {series.points.front().session->session_started.substr(0, 10), Tone::quiet},
                          {series.points.back().session->session_started.substr(0, 10), Tone::quiet},
                          {report::format_quantity(series.points.back().median, series.facts.unit)},
                          {shape_of(series, unicode), Tone::quiet}});
  }
  return table;
}

Table points_of(const store::PointSeries& series, std::int64_t limit) {
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
  for (auto at = series.points.rbegin(); at != series.points.rend() && shown < limit; ++at, ++shown) {
    const auto& session = *at->session;
    table.rows.push_back({{session.session_started},
                          {session.commit.substr(0, 10) + (session.dirty ? "*" : "")},
                          {session.branch, Tone::quiet},
                          {report::format_quantity(at->median, series.facts.unit)},
                          {at->interval ? report::format_half_width(at->median, *at->interval) : ""},
                          {report::format_count(at->n)},
                          {session.fingerprint, Tone::quiet},
                          {session.session, Tone::quiet}});
  }
  return table;
}

Json series_json(const std::string& benchmark, const std::string& metric, const store::PointSeries& series,
                 std::int64_t limit) {
  Json points = Json::array();
  for (auto at = series.points.rbegin(); at != series.points.rend(); ++at) {
    if (static_cast<std::int64_t>(points.size()) == limit) break;
    const auto& session = *at->session;
    Json point{{"session", session.session}, {"started", session.session_started},
               {"commit", session.commit},   {"dirty", session.dirty},
               {"branch", session.branch},   {"fingerprint", session.fingerprint},
               {"median", at->median},       {"n", at->n}};
    if (at->interval) point.update({{"low", at->interval->low}, {"high", at->interval->high}});
    points.push_back(std::move(point));
  }
  return {{"benchmark", benchmark}, {"metric", metric}, {"unit", series.facts.unit}, {"points", std::move(points)}};
}

/// Into --json: the newest points first, as the table has them.
Status write_series(const ParsedOptions& options, const validate::KeptPoints& kept, std::int64_t limit) {
  if (!options.has("--json")) return {};
  const auto& words = options.positionals();
  Json list = Json::array();
  for (const auto& [name, series] : kept.series()) {
    const bool wanted = words.size() < 2 || validate::matches_series(words[1], name.first, name.second);
    if (wanted) list.push_back(series_json(name.first, name.second, series, limit));
  }
  return write_json(options, {{"schema", "warpmark.series_list/1"}, {"series", std::move(list)}});
}

}  // namespace

Result<int> show_series(Context& context, const ParsedOptions& options, store::Store& store) {
  std::int64_t limit = 20;
  if (options.has("--limit")) {
    WM_ASSIGN(limit, parse_integer(options.get("--limit")));
    if (limit < 1) return usage_error("--limit must be at least 1");
  }
  WM_ASSIGN(const auto kept, validate::KeptPoints::read(store, std::numeric_limits<std::size_t>::max()));
  WM_TRY(write_series(options, kept, limit));
  if (kept.series().empty()) {
    context.out << "nothing is stored yet; measure with: warpmark run\n";
    return kSuccess;
  }
  const auto render = render_options(context);
  const auto& words = options.positionals();
  if (words.size() < 2) {
    context.out << report::render_table(all_series(kept, context.unicode), render);
    return kSuccess;
  }
  bool any = false;
  for (const auto& [name, series] : kept.series()) {
    if (!validate::matches_series(words[1], name.first, name.second)) continue;
    context.out << (any ? "\n" : "") << name.first << ' ' << name.second << '\n'
                << report::render_table(points_of(series, limit), render);
    any = true;
  }
  if (!any) return usage_error("no metric matches " + words[1], "`warpmark history series` shows what there is");
  return kSuccess;
}

}  // namespace warpmark::apps
