#include "warpmark/scaling/scale_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>

#include "base/command_line.h"
#include "base/json.h"
#include "model/beside.h"
#include "stats/sampled_metric.h"
#include "store/document.h"
#include "validate/judge/goals.h"
#include "warpmark/sessions/goals.h"
#include "warpmark/sessions/new_session.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

/// Of each number of workers that was measured, what the history keeps.
std::vector<Run> runs_of(const ScaleRequest& request, const Scaling& scaling) {
  std::vector<Run> runs;
  for (const auto& point : scaling.points) {
    if (point.throughput.empty()) continue;
    Run run{.workload = "command"};
    run.params.set("command", command_line(request.words));
    run.params.set("mode", scaling.mode);
    run.params.set(request.ranks ? "ranks" : "gpus", std::int64_t{point.workers});
    run.device = request.ranks ? "cpu" : "cuda";
    run.outcome = Outcome::passed;
    run.metrics.push_back(stats::metric_of_rounds("throughput", scaling.unit + "/s", Better::higher, point.throughput));
    run.metrics.push_back(stats::metric_of_rounds("time", "s", Better::lower, point.seconds));
    if (!point.joules.empty()) {
      const std::string_view energy = request.ranks ? "energy" : kGpuEnergy;
      run.metrics.push_back(stats::metric_of_rounds(std::string(energy), "J", Better::lower, point.joules));
    }
    const auto add = [&](std::string_view id, const char* unit, Better better, std::optional<double> value) {
      if (value) run.metrics.push_back(stats::sampled_metric(std::string(id), unit, better, {*value}));
    };
    add(kGpuUtilization, "ratio", Better::neither, point.gpu_utilization);
    add(kGpuPeakMemory, "B", Better::lower, point.gpu_memory_bytes);
    run.rounds = static_cast<std::int64_t>(point.throughput.size());
    run.timing.method = "host clock";
    run.seed = request.seed;
    runs.push_back(std::move(run));
  }
  return runs;
}

/// A number of workers that failed, or has no value of the metric, has not met the goal.
bool all_measured(Context& context, const ParsedOptions& options, const Scaling& scaling, std::span<const Run> runs) {
  bool all = true;
  for (const auto& text : options.all("--goal")) {
    const auto goal = validate::parse_goal(text);
    if (!goal.ok()) continue;  // refused before
    auto run = runs.begin();
    for (const auto& point : scaling.points) {
      const bool ran = !point.throughput.empty();
      const bool has =
          ran && std::ranges::any_of(run->metrics, [&](const Metric& metric) { return metric.id == goal->metric; });
      if (ran) ++run;
      if (has) continue;
      all = false;
      context.err << fmt::format("--goal {}: not measured with {}\n", text, scaling.workers(point.workers));
    }
  }
  return all;
}

}  // namespace

Result<bool> meets_goals_everywhere(Context& context, const ParsedOptions& options, const ScaleRequest& request,
                                    const Scaling& scaling) {
  auto runs = runs_of(request, scaling);
  auto run = runs.begin();
  for (const auto& point : scaling.points) {
    if (point.throughput.empty()) continue;
    run->device = scaling.workers(point.workers);
    run->metrics.push_back(stats::sampled_metric("efficiency", "ratio", Better::higher, {point.efficiency.value}));
    run->metrics.push_back(stats::sampled_metric("speed_up", "1", Better::higher, {point.speed_up.value}));
    ++run;
  }
  WM_ASSIGN(const bool met, meets_goals(context, options, runs));
  return met && all_measured(context, options, scaling, runs);
}

Status store_scaling(Context& context, const ParsedOptions& options, const ScaleRequest& request, Scaling& scaling,
                     const std::string& format) {
  if (options.has("--no-store")) return {};
  WM_ASSIGN(const auto store, open_store(context, options));
  Session session = new_session(context);
  scaling.id = session.id;
  WM_TRY(store->begin(session));
  std::int64_t index = 0;
  for (auto& run : runs_of(request, scaling)) {
    run.id = fmt::format("{}.{}", session.id, index);
    run.index = index;
    run.started = session.started;
    run.repro = command_line_of(context);
    WM_TRY(store->append_run(session.id, run));
    ++index;
  }
  WM_TRY(store::attach_report(*store, session.id, to_json(scaling), command_line(request.words)));
  if (scaling.complete) WM_TRY(store->finish(session.id, {}));
  if (format == "text") context.err << stored_note(session.id);
  return {};
}

}  // namespace warpmark::apps
