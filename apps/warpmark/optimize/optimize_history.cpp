#include "warpmark/optimize/optimize_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "device/machine.h"
#include "model/json/json.h"
#include "model/run_query.h"
#include "optimize/history_report.h"
#include "optimize/plan.h"
#include "report/build/optimization.h"
#include "session/new_session.h"
#include "stats/tests/compare.h"
#include "validate/guard/series.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/optimize/optimize_request.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr std::int64_t kMostResults = 100'000;  // as many as `trend` reads of a series

/// Of a series: the results of each commit, newest first.
using PointsOfCommits = std::map<std::string, std::vector<store::RunPoint>>;

std::string name_of(const store::RunPoint& point) {
  return validate::case_label(point.workload, point.params, point.device, point.mode) + " " + point.metric;
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
Result<PointsOfCommits> series_of(store::Store& store, const std::vector<Commit>& commits, const std::string& metric,
                                  const Machine& machine) {
  std::set<std::string> wanted;
  for (const auto& commit : commits) wanted.insert(commit.sha);
  WM_ASSIGN(auto points,
            store.find({.metric = metric, .fingerprint = machine.fingerprint, .dirty = false, .limit = kMostResults}));
  std::map<std::string, PointsOfCommits> all;
  for (auto& point : points) {
    if (!is_measured(point.outcome) || !wanted.contains(point.commit)) continue;
    all[name_of(point)][point.commit].push_back(std::move(point));
  }
  std::erase_if(all, [](const auto& series) { return series.second.size() < 2; });
  if (all.size() == 1) return std::move(all.begin()->second);
  if (all.empty()) {
    return usage_error(fmt::format("fewer than two of the {} commits have results of this machine", commits.size()),
                       "measure each commit: git checkout COMMIT && warpmark run --project warpmark.yaml");
  }
  std::vector<std::string> names;
  for (const auto& [name, commits_of_it] : all) names.push_back(name);
  return usage_error("several series fit: " + join(names, ", "),
                     "name one: --metric " + all.begin()->second.begin()->second.front().metric);
}

/// Values of one session are its rounds' medians; those of several, one each.
std::vector<double> values_of(const std::vector<store::RunPoint>& points, const Run& newest) {
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point.median);
  if (points.size() > 1) return values;
  const Metric* metric = metric_of(newest, points.front().metric);
  return metric != nullptr ? stats::round_medians({metric->samples, metric->round_sizes}) : values;
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
    WM_ASSIGN(const auto run, store.run(newest.session, newest.index));
    auto values = values_of(found->second, run);
    if (newest.better == Better::higher) std::ranges::transform(values, values.begin(), [](double v) { return 1 / v; });
    measured.push_back(
        {.sha = commit.sha, .subject = commit.subject, .seconds = values, .memory_bytes = memory_of(run)});
  }
  return measured;
}

}  // namespace

Result<int> show_history_report(Context& context, const ParsedOptions& options, const OptimizeRequest& request) {
  WM_TRY(check_outputs(options));
  const auto& training = request.training;
  WM_TRY(check_training(training));
  const auto& metric = request.metric;
  optimize::HistoryOptions how{.effect = request.options.effect,
                               .alpha = request.options.alpha,
                               .unit = metric.find("step") != std::string::npos ? "step" : "run"};
  if (training.steps && how.unit != "step") {
    return usage_error("--train-steps needs the time of a step", "name the metric that holds it: --metric step_time");
  }
  WM_ASSIGN(const auto commits, commits_of(request.commits));
  WM_ASSIGN(const auto store, open_to_read(context, options));
  const auto machine = device::machine_facts();
  WM_ASSIGN(const auto series, series_of(*store, commits, metric, machine));
  WM_ASSIGN(const auto measured, measured_commits(*store, commits, series));
  WM_ASSIGN(auto optimization, optimize::optimization_of(measured, how));
  optimization.program = name_of(series.at(measured.back().sha).front());
  optimization.command = command_line_of(context);
  optimization.machine = machine;
  optimization.build = session::build_info();
  optimization.goal = training.goal;
  optimization.train_steps = training.steps;
  optimization.price_per_hour = training.price_per_hour;
  const auto shown = shown_as([&] { return to_json(optimization); }, report::build_report(optimization));
  WM_TRY(show(context, shown, request.format));
  WM_TRY(write_report(options, "optimization", shown));
  return exit_because(context, optimize::outcome_code(optimization), optimization.verdict);
}

}  // namespace warpmark::apps
