// Speed against accuracy: which configurations does nothing else beat in both?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "base/untrusted/read_fields.h"
#include "model/report.h"
#include "report/draw/table.h"
#include "report/formats/render.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

struct ParetoPoint {
  std::string name;
  double speed = 0;
  double score = 0;
  std::string interval;
  bool is_best = false;  ///< none is at least as good in both and better in one
};

Result<ParetoPoint> point_of(const Json& score, const std::string& file, double speed, bool& lower_is_better) {
  ParetoPoint point{.name = std::filesystem::path(file).stem().string(),
                    .speed = speed,
                    .score = score["value"].get<double>(),
                    .interval = {}};
  lower_is_better = score.value("better", "higher") == "lower";
  if (score.contains("ci_low") && score["ci_low"].is_number() && score.contains("ci_high") &&
      score["ci_high"].is_number()) {
    point.interval = fmt::format("{:.4f} to {:.4f}", score["ci_low"].get<double>(), score["ci_high"].get<double>());
  }
  return point;
}

/// "scores.json=118".
Result<ParetoPoint> pareto_point(const std::string& word, const std::string& metric, bool& lower_is_better) {
  const auto equals = word.rfind('=');
  const auto speed =
      equals == std::string::npos ? Result<double>(usage_error("")) : parse_number(word.substr(equals + 1));
  if (!speed.ok()) return usage_error("'" + word + "' is not of the form SCORES.json=SPEED", "int8.json=203.5");
  const std::string file = word.substr(0, equals);
  WM_ASSIGN(const auto text, read_file(file));
  WM_ASSIGN(const Json document, parse_json(text, file));
  if (!document.is_object() || !document.contains("scores") || !document["scores"].is_array()) {
    return data_error(file + " holds no scores", "warpmark eval score ... --json FILE writes them");
  }
  std::vector<const Json*> fitting;
  for (const auto& score : document["scores"]) {
    const bool fits = score.is_object() && score.contains("metric") && score.contains("value") &&
                      score["value"].is_number() && (metric.empty() || score["metric"] == metric);
    if (fits) fitting.push_back(&score);
  }
  if (fitting.empty()) return data_error(file + " has no score '" + metric + "'");
  return read_fields(file, [&] { return point_of(*fitting.front(), file, *speed, lower_is_better); });
}

void mark_best(std::vector<ParetoPoint>& points, bool lower_is_better) {
  const double sign = lower_is_better ? -1 : 1;
  for (auto& point : points) {
    point.is_best = std::none_of(points.begin(), points.end(), [&](const auto& other) {
      const double gain = sign * (other.score - point.score);
      return other.speed >= point.speed && gain >= 0 && (other.speed > point.speed || gain > 0);
    });
  }
}

Report pareto_report(const std::vector<ParetoPoint>& points, const std::string& metric, const std::string& unit) {
  Table table{{{"configuration"},
               {"speed" + (unit.empty() ? "" : ", " + unit), Align::right},
               {metric, Align::right},
               {"interval", Align::right},
               {""}},
              {}};
  Plot plot{.title = metric + " against speed",
            .x = {.title = "speed" + (unit.empty() ? "" : " (" + unit + ")"), .unit = ""},
            .y = {.title = metric, .unit = ""},
            .series = {}};
  Series front{.name = "best", .points = {}, .line = true}, others{.name = "others", .points = {}, .line = false};
  for (const auto& point : points) {
    table.rows.push_back({{point.name},
                          {fmt::format("{:g}", point.speed)},
                          {fmt::format("{:.4f}", point.score)},
                          {point.interval},
                          {point.is_best ? "best" : "", Tone::good}});
    (point.is_best ? front : others).points.emplace_back(point.speed, point.score);
  }
  plot.series.push_back(std::move(front));
  if (!others.points.empty()) plot.series.push_back(std::move(others));
  return {.title = "Speed against accuracy", .subtitle = "", .sections = {{.heading = "", .blocks = {table, plot}}}};
}

}  // namespace

Result<int> eval_pareto(Context& context, const ParsedOptions& options, const EvalRequest& request) {
  const std::vector<std::string> words(options.positionals().begin() + 1, options.positionals().end());
  if (words.size() < 2) {
    return usage_error("two configurations or more are needed", "warpmark eval pareto fp16.json=118 int8.json=203");
  }
  for (const char* file : {"--plot", "--json"}) {
    if (options.has(file)) WM_TRY(check_writable(options.get(file)));
  }
  std::vector<ParetoPoint> points;
  bool lower_is_better = false;
  const auto& metric = request.metrics;
  for (const auto& word : words) {
    WM_ASSIGN(auto point, pareto_point(word, metric, lower_is_better));
    points.push_back(std::move(point));
  }
  mark_best(points, lower_is_better);
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.speed < b.speed; });
  const Report report = pareto_report(points, metric.empty() ? "score" : metric, request.speed_unit);
  WM_TRY(show_table(context, options, "eval pareto", std::get<Table>(report.sections[0].blocks[0])));
  const auto& file = request.plot;
  if (file.empty()) return kSuccess;
  WM_TRY(write_file(file, report::render(report, file.ends_with(".md") ? "md" : "html", {})));
  return kSuccess;
}

}  // namespace warpmark::apps
