#include "validate/scaling/stored_scaling.h"

#include "model/beside.h"
#include "model/run_query.h"
#include "validate/scaling/scaling.h"

namespace warpmark::validate {
namespace {

const char* worker_parameter(const Run& run) {
  if (run.workload != "command" || !run.params.has("mode")) return nullptr;
  for (const char* name : {"gpus", "ranks"}) {
    if (run.params.has(name)) return name;
  }
  return nullptr;
}

std::optional<double> only_sample(const Run& run, std::string_view id) {
  const Metric* metric = metric_of(run, id);
  return metric != nullptr && metric->samples.size() == 1 ? std::optional(metric->samples[0]) : std::nullopt;
}

void add_rounds(const Run& run, int workers, std::vector<ScalingRun>& runs) {
  const Metric *throughput = metric_of(run, "throughput"), *time = metric_of(run, "time");
  const Metric* joules = metric_of(run, kGpuEnergy);
  if (joules == nullptr) joules = metric_of(run, "energy");
  if (throughput == nullptr || time == nullptr) return;
  for (std::size_t i = 0; i < throughput->samples.size() && i < time->samples.size(); ++i) {
    ScalingRun one{.workers = workers, .round = static_cast<int>(i), .seconds = time->samples[i]};
    one.throughput = throughput->samples[i];
    if (joules != nullptr && i < joules->samples.size()) one.joules = joules->samples[i];
    one.gpu_memory_bytes = only_sample(run, kGpuPeakMemory);
    one.gpu_utilization = only_sample(run, kGpuUtilization);
    runs.push_back(std::move(one));
  }
}

}  // namespace

std::optional<Scaling> scaling_of(const Session& session) {
  Scaling scaling{.id = session.id, .started = session.started, .command = session.command};
  std::vector<ScalingRun> runs;
  for (const Run& run : session.runs) {
    const char* parameter = worker_parameter(run);
    if (parameter == nullptr) continue;
    scaling.worker = std::string_view(parameter) == "gpus" ? "GPU" : "rank";
    scaling.mode = run.params.text("mode");
    scaling.seed = run.seed;
    if (const Metric* rate = metric_of(run, "throughput"); rate != nullptr && rate->unit.ends_with("/s")) {
      scaling.unit = rate->unit.substr(0, rate->unit.size() - 2);
    }
    add_rounds(run, static_cast<int>(run.params.integer(parameter)), runs);
  }
  scaling.machine = session.machine;
  scaling.build = session.build;
  scaling.complete = session.complete;
  judge_scaling(runs, scaling);
  return scaling.points.size() > 1 ? std::optional(std::move(scaling)) : std::nullopt;
}

}  // namespace warpmark::validate
