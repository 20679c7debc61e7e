#include "loadtest/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "loadtest/measure.h"
#include "loadtest/network.h"
#include "loadtest/telemetry.h"
#include "serving/client/load_clock.h"
#include "serving/client/query_load.h"
#include "serving/results/mlperf.h"
#include "workloads/models/model_shape.h"

namespace warpmark::loadtest {
namespace {

using serving::MlperfScenario;

constexpr double kQuery_s = 600;
constexpr int kWarmups = 5;

/// One query: the batch that the network was made for, or its first `samples`; from asking the worker to its answer.
Status infer(const StartedModel& model, std::int64_t samples = 0) {
  WM_TRY(model.workers->ask({{"ask", "run"}, {"steps", 1}, {"phases", false}, {"samples", samples}}, kQuery_s));
  return {};
}

Result<StartedModel> model_for(const Surroundings& around, const PreparedLoad& request) {
  Overrides defaults{{"pass", "forward"}};
  const bool offline = request.mlperf->scenario == MlperfScenario::offline;
  const std::int64_t samples = std::max(request.mlperf->samples_per_query, request.most_batched);
  if (!offline) defaults.emplace_back("batch", std::to_string(samples));
  WM_ASSIGN(auto model, start_model(request.network, request.workload, defaults, around.interrupted));
  if (!offline && model.params.integer("batch") != samples) {
    return usage_error(fmt::format("a query of {} has {} samples", name_of(request.mlperf->scenario), samples),
                       "leave out batch; only Offline chooses it");
  }
  if (request.most_batched > 1 && model.params.text("pass") != "forward") {
    return usage_error("--max-batchsize is for pass=forward", "leave out one of them");
  }
  return model;
}

Result<serving::QueryPlan> plan_of(const Surroundings& around, const PreparedLoad& request, const StartedModel& model) {
  const serving::Traffic& traffic = request.steps.front().traffic;
  serving::QueryPlan plan{.samples_per_query = request.mlperf->samples_per_query,
                          .least_queries = request.mlperf->least_queries,
                          .least_duration_s = request.mlperf->least_duration_s,
                          .interrupted = &around.interrupted};
  if (request.mlperf->scenario == MlperfScenario::offline) {
    WM_ASSIGN(const auto shape, workloads::model_shape(model.name, model.params));
    plan.samples_per_query = shape.batch;
    plan.all_at_once = traffic.most_requests;
  } else if (request.mlperf->scenario == MlperfScenario::server) {
    constexpr std::int64_t kMostQueries = 5'000'000;
    plan.most_batched = request.most_batched;
    plan.due_ns = serving::due_times_ns(traffic.arrivals, traffic.duration_s, kMostQueries, traffic.seed);
  }
  return plan;
}

/// The first query, which may compile and choose kernels, and the last of some more.
Status probe_warm(const StartedModel& model, std::int64_t most_batched, serving::LoadReport& report) {
  for (int i = 0; i < kWarmups; ++i) {
    const std::int64_t began_ns = serving::load_now_ns();
    WM_TRY(infer(model));
    const double took_s = static_cast<double>(serving::load_now_ns() - began_ns) * 1e-9;
    if (i == 0) report.first_s = took_s;
    report.warm_s = report.repeated_s = took_s;
  }
  for (std::int64_t size = 1; size < most_batched; ++size) WM_TRY(infer(model, size));
  return {};
}

}  // namespace

Status measure_workload(const Surroundings& around, const PreparedLoad& request, LoadOutputs& outputs) {
  WM_ASSIGN(const StartedModel model, model_for(around, request));
  WM_TRY(probe_warm(model, request.most_batched, outputs.report));
  if (around.needs_time) around.needs_time(10);
  WM_ASSIGN(auto plan, plan_of(around, request, model));
  plan.records_file = outputs.records_file;
  const std::string started = format_utc(wall_clock_s());
  WM_ASSIGN(const auto telemetry, LoadTelemetry::start(request.telemetry));
  std::int64_t batches = 0;
  WM_ASSIGN(auto outcome, serving::run_queries(plan, [&](std::int64_t queries) {
              ++batches;
              return infer(model, request.most_batched > 1 ? queries : 0);
            }));
  if (request.most_batched > 1 && batches > 0) {
    outputs.report.notes.push_back(
        fmt::format("batches: {:.3g} queries in the mean, {} at most",
                    static_cast<double>(outcome.records.size()) / static_cast<double>(batches), request.most_batched));
  }
  needs_time_for(outcome, around);
  serving::LoadPlan asked;
  asked.requests.resize(1);
  auto result = serving::evaluate_load(std::move(outcome), asked, request.evaluation);
  const serving::Traffic& traffic = request.steps.front().traffic;
  result.scenario = traffic.scenario.text;
  if (request.most_batched > 1) result.scenario += fmt::format(", batches up to {}", request.most_batched);
  result.arrivals = serving::to_text(traffic.arrivals);
  result.users = traffic.users > 0 ? 1 : 0;
  result.rate = traffic.arrivals.rate;
  result.batch = plan.samples_per_query;
  result.started = started;
  const auto samples = telemetry->stop();
  if (!samples.empty()) serving::add_telemetry(samples, result);
  result.mlperf = serving::judge_mlperf(*request.mlperf, result, request.evaluation.slo);
  WM_TRY(result.records.status());
  return keep_load(outputs, std::move(result));
}

}  // namespace warpmark::loadtest
