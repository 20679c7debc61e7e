#include "warpmark/optimize/optimize_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "device/machine.h"
#include "model/json/json.h"
#include "model/run_query.h"
#include "optimize/history_report.h"
#include "optimize/outcome.h"
#include "report/build/optimization.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/optimize/optimize_request.h"
#include "warpmark/sessions/build_info.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

/// What a series is, of one machine: benchmark, parameters, device, metric.
using SeriesKey = std::tuple<std::string, std::string, std::string, std::string>;
using PointsOfCommits = std::map<std::string, std::vector<store::RunPoint>>;

std::string name_of(const SeriesKey& key) {
  const auto& [workload, params, device, metric] = key;
  return workload + (params.empty() ? "" : " " + params) + " " + metric;
}

Result<std::vector<Commit>> commits_of(const std::string& range) {
  const auto dots = range.find("..");
  if (dots == std::string::npos || dots == 0) {
    return usage_error("--from-history takes a range of revisions", "such as --from-history v1..main");
  }
  const auto last = range.substr(dots + 2);
  return first_parent_range(range.substr(0, dots), last.empty() ? "HEAD" : last);
}

/// The one series with at least two of the commits.
Result<PointsOfCommits> series_of(store::Store& store, const std::vector<Commit>& commits, const std::string& metric) {
  std::map<SeriesKey, PointsOfCommits> all;
  for (const auto& commit : commits) {
    store::RunQuery query{.metric = metric, .commit = commit.sha, .dirty = false};
    query.fingerprint = device::machine_facts().fingerprint;
    WM_ASSIGN(auto points, store.find(query));
    for (auto& point : points) {
      all[{point.workload, point.params, point.device, point.metric}][commit.sha].push_back(std::move(point));
    }
  }
  std::erase_if(all, [](const auto& series) { return series.second.size() < 2; });
  if (all.size() == 1) return std::move(all.begin()->second);
  if (all.empty()) {
    return usage_error(fmt::format("fewer than two of the {} commits have results of this machine", commits.size()),
                       "measure each commit: git checkout COMMIT && warpmark run --project warpmark.yaml");
  }
  std::vector<std::string> names;
  for (const auto& [key, points] : all) names.push_back(name_of(key));
  return usage_error("several series fit: " + join(names, ", "),
                     "name one: --metric " + std::get<3>(all.begin()->first));
}

/// Values of one session are its rounds' medians; those of several, one each.
Result<std::vector<double>> values_of(store::Store& store, const std::vector<store::RunPoint>& points) {
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point.median);
  if (points.size() > 1) return values;
  WM_ASSIGN(const auto run, store.run(points.front().session, points.front().index));
  const Metric* metric = metric_of(run, points.front().metric);
  return metric != nullptr ? metric->samples : values;
}

std::optional<double> memory_of(const Run& run) {
  for (const char* id : {"gpu_peak_memory", "memory.device", "peak_memory", "max_rss"}) {
    if (const Metric* metric = metric_of(run, id)) return metric->summary.median;
  }
  return std::nullopt;
}

Result<std::vector<optimize::MeasuredCommit>> measured_commits(store::Store& store, const std::vector<Commit>& commits,
                                                               const PointsOfCommits& series) {
  std::vector<optimize::MeasuredCommit> measured;
  for (const auto& commit : commits) {
    const auto found = series.find(commit.sha);
    if (found == series.end()) continue;
    const auto& newest = found->second.front();
    WM_ASSIGN(auto values, values_of(store, found->second));
    if (newest.better == Better::higher) std::ranges::transform(values, values.begin(), [](double v) { return 1 / v; });
    WM_ASSIGN(const auto run, store.run(newest.session, newest.index));
    measured.push_back(
        {.sha = commit.sha, .subject = commit.subject, .seconds = values, .memory_bytes = memory_of(run)});
  }
  return measured;
}

}  // namespace

Result<int> show_history_report(Context& context, const ParsedOptions& options) {
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto format, format_of(options));
  WM_ASSIGN(const auto training, training_of(options));
  const auto metric = options.get("--metric");
  optimize::HistoryOptions how{.unit = metric.find("step") != std::string::npos ? "step" : "run"};
  if (training.steps && how.unit != "step") {
    return usage_error("--train-steps needs the time of a step", "name the metric that holds it: --metric step_time");
  }
  WM_ASSIGN(how.effect, ratio_of(options, "--effect", how.effect));
  WM_ASSIGN(how.alpha, ratio_of(options, "--alpha", how.alpha));
  WM_ASSIGN(const auto commits, commits_of(options.get("--from-history")));
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(const auto series, series_of(*store, commits, metric));
  WM_ASSIGN(const auto measured, measured_commits(*store, commits, series));
  WM_ASSIGN(auto optimization, optimize::optimization_of(measured, how));
  const auto& newest = series.at(measured.back().sha).front();
  optimization.program = name_of({newest.workload, newest.params, newest.device, newest.metric});
  optimization.command = command_line_of(context);
  optimization.machine = device::machine_facts();
  optimization.build = build_info();
  optimization.goal = training.goal;
  optimization.train_steps = training.steps;
  optimization.price_per_hour = training.price_per_hour;
  const auto shown = shown_as([&] { return to_json(optimization); }, report::build_report(optimization));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "optimization", shown));
  return optimize::outcome_code(optimization);
}

}  // namespace warpmark::apps
