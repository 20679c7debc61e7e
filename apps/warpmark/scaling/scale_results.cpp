#include "warpmark/scaling/scale_results.h"

#include <fmt/format.h>

#include <ostream>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "session/new_session.h"
#include "stats/summary.h"
#include "store/keep.h"
#include "warpmark/sessions/goals.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

/// What the history keeps of a number of workers that was measured.
Run run_of(const ScaleRequest& request, const Scaling& scaling, const ScalingPoint& point) {
  Run run{.workload = "command"};
  run.params.set("command", command_line(request.words));
  run.params.set("mode", scaling.mode);
  run.params.set(request.ranks ? "ranks" : "gpus", std::int64_t{point.workers});
  run.device = request.ranks ? "cpu" : "cuda";
  run.outcome = Outcome::passed;
  run.converged = true;
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
  return run;
}

}  // namespace

Status check_scale_goals(const ParsedOptions& options) {
  WM_ASSIGN(const auto goals, goals_of(options));
  Run everything;  // that may be measured
  const auto add = [&](std::string_view id, const std::string& unit) {
    everything.metrics.push_back(stats::sampled_metric(std::string(id), unit, Better::neither, {1}));
  };
  add("throughput", options.get("--unit", "runs") + "/s"), add("time", "s"), add("speed_up", "1");
  add("efficiency", "ratio"), add(kGpuUtilization, "ratio"), add(kGpuPeakMemory, "B");
  add(kGpuEnergy, "J"), add("energy", "J");
  const auto judged = validate::judge_goals(goals, {&everything, 1});
  return judged.ok() ? Status() : Status(judged.error());
}

Result<bool> meets_goals_everywhere(Context& context, const ParsedOptions& options, const ScaleRequest& request,
                                    const Scaling& scaling) {
  std::vector<Run> runs;  // one without metrics where a number of workers failed
  for (const auto& point : scaling.points) {
    const bool measured = !point.throughput.empty();
    Run& run = runs.emplace_back(measured ? run_of(request, scaling, point) : Run());
    run.device = scaling.workers(point.workers);
    if (!measured) continue;
    run.metrics.push_back(stats::sampled_metric("efficiency", "ratio", Better::higher, {point.efficiency.value}));
    run.metrics.push_back(stats::sampled_metric("speed_up", "1", Better::higher, {point.speed_up.value}));
  }
  WM_ASSIGN(bool met, meets_goals(context, options, runs));
  WM_ASSIGN(const auto goals, goals_of(options));
  for (const auto& goal : goals) {
    for (const auto& run : runs) {
      if (metric_of(run, goal.metric) != nullptr) continue;
      met = false;
      context.err << fmt::format("--goal {}: not measured with {}\n", goal.text, run.device);
    }
  }
  return met;
}

Status store_scaling(Context& context, const ParsedOptions& options, const ScaleRequest& request, Scaling& scaling,
                     const std::string& format) {
  if (options.has("--no-store")) return {};
  WM_ASSIGN(const auto store, open_store(context, options));
  Session session = session::new_session(command_line_of(context));
  scaling.id = session.id;
  WM_TRY(store->begin(session));
  std::int64_t index = 0;
  for (const auto& point : scaling.points) {
    if (point.throughput.empty()) continue;
    Run run = run_of(request, scaling, point);
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
