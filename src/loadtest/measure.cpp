#include "loadtest/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "device/cpu/conditions.h"
#include "loadtest/clients.h"
#include "loadtest/live_numbers.h"
#include "loadtest/pages/load_text.h"
#include "loadtest/quality.h"
#include "loadtest/telemetry.h"
#include "serving/client/load_client.h"
#include "serving/results/mlperf.h"
#include "serving/results/own_tokens.h"
#include "serving/results/sessions.h"
#include "serving/selftest.h"

namespace warpmark::loadtest {
namespace {

using serving::ScenarioResult;

Result<serving::LoadOutcome> run_here(const Surroundings& around, const PreparedLoad& request, const LoadStep& step,
                                      serving::LoadPlan& plan, const LoadPlace& place) {
  serving::LiveCounters live;
  std::atomic<bool> enough{false}, ended{false};
  plan.records_file = place.records_file;
  plan.live = &live;
  plan.enough = &enough;
  const serving::CpuPair cpus = serving::separate_cpus();
  const std::vector<int> pinned =
      request.threads == 1 && cpus.client >= 0 ? std::vector<int>{cpus.client} : std::vector<int>{};
  std::optional<Result<serving::LoadOutcome>> outcome;
  std::thread load([&] {
    outcome = serving::run_load_on(plan, request.threads, pinned);
    ended.store(true);
  });
  ScenarioResult named;
  named.scenario = step.traffic.scenario.text;
  named.arrivals = serving::to_text(step.traffic.arrivals);
  named.users = step.traffic.users;
  named.rate = step.traffic.arrivals.rate;
  const RunningLoad shown{.title = named.scenario + ", " + level_text(named),
                          .step = place.step,
                          .steps = place.steps,
                          .duration_s = step.traffic.duration_s,
                          .most_requests = step.traffic.most_requests};
  while (!ended.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (around.live) around.live(shown, live);
    if (request.precision.share > 0 && precise_enough(live, request.precision.metric, request.precision.share))
      enough.store(true);
  }
  load.join();
  if (around.live_ended) around.live_ended();
  plan.live = nullptr;
  plan.enough = nullptr;
  return std::move(*outcome);
}

/// The CPU time of this machine, and how much of it others had.
class OtherPrograms {
 public:
  [[nodiscard]] std::optional<double> share() const {
    const auto now = device::read_cpu_conditions("/");
    const auto busy = increase(now, "busy_time"), own = increase(now, "process_time");
    const double cpu_s = static_cast<double>(monotonic_ns() - began_ns_) * 1e-9 * std::thread::hardware_concurrency();
    if (!busy || !own || !(cpu_s > 0)) return std::nullopt;
    return std::clamp((*busy - *own) / cpu_s, 0.0, 1.0);
  }

 private:
  [[nodiscard]] std::optional<double> increase(const device::Conditions& now, std::string_view id) const {
    const auto before = std::ranges::find(before_.sensors, id, &device::Sensor::id);
    const auto after = std::ranges::find(now.sensors, id, &device::Sensor::id);
    if (before == before_.sensors.end() || after == now.sensors.end()) return std::nullopt;
    if (!before->value || !after->value) return std::nullopt;
    return *after->value - *before->value;
  }
  device::Conditions before_ = device::read_cpu_conditions("/");
  std::int64_t began_ns_ = monotonic_ns();
};

}  // namespace

void needs_time_for(const serving::LoadOutcome& outcome, const Surroundings& around) {
  constexpr double kAtLeast_s = 60, kEach_s = 2e-4;  // several times what all files take
  if (around.needs_time) around.needs_time(kAtLeast_s + kEach_s * static_cast<double>(outcome.records.size()));
}

Result<serving::LoadPlan> plan_of(const Surroundings& around, const PreparedLoad& request, const LoadStep& step,
                                  const serving::TokenFit& fit) {
  WM_ASSIGN(serving::LoadPlan plan, serving::prepare_load(request.target, step.traffic, fit));
  plan.request_timeout_s = request.request_timeout_s;
  plan.stall_timeout_s = request.stall_timeout_s;
  plan.drain_s = request.drain_s;
  plan.keep_connections = request.keep_connections;
  plan.max_error_rate = request.max_error_rate;
  if (!request.files.vllm_json.empty()) plan.most_gaps = 0;
  plan.least_requests = step.traffic.least_requests;
  plan.together = step.traffic.together;
  plan.all_at_once = step.traffic.all_at_once;
  if (!plan.closed) plan.users = request.most_in_flight;
  if (!plan.keep_connections) plan.connect_ahead = 0;
  plan.interrupted = &around.interrupted;
  return plan;
}

Result<ScenarioResult> measure_load(const Surroundings& around, const PreparedLoad& request, const LoadStep& step,
                                    const serving::TokenFit& fit, const LoadPlace& place) {
  WM_ASSIGN(serving::LoadPlan plan, plan_of(around, request, step, fit));
  const std::string started = format_utc(wall_clock_s());
  WM_ASSIGN(const auto telemetry, LoadTelemetry::start(request.telemetry));
  const OtherPrograms others;
  WM_ASSIGN(auto outcome, request.clients > 0 ? run_clients(around, request, step, fit, plan)
                                              : run_here(around, request, step, plan, place));
  const auto others_share = request.clients > 0 ? std::nullopt : others.share();
  needs_time_for(outcome, around);
  if (request.target.tokenizer != nullptr) WM_TRY(serving::count_answers(*request.target.tokenizer, plan, outcome));
  ScenarioResult result = serving::evaluate_load(std::move(outcome), plan, request.evaluation);
  result.client.others_share = others_share;
  result.scenario = step.traffic.scenario.text;
  result.arrivals = serving::to_text(step.traffic.arrivals);
  result.users = step.traffic.users;
  result.rate = step.traffic.arrivals.rate;
  result.batch = step.traffic.batch;
  if (step.traffic.arrivals.kind == serving::ArrivalKind::trace && result.wall_s > 0) {
    result.rate = static_cast<double>(plan.due_ns.size()) / result.wall_s;
  }
  result.started = started;
  result.turns = step.traffic.conversations.turns;
  result.parameters = step.parameters;
  result.prompts.repeats = request.levels.seed.has_value();
  serving::add_sessions(result.records, plan, step.traffic.conversations.turns, request.evaluation.confidence, result);
  if (request.questions != nullptr) WM_TRY(add_quality(*request.questions, around.interrupted, result));
  const auto samples = telemetry->stop();
  if (!samples.empty()) serving::add_telemetry(samples, result);
  serving::add_per_unit(request.gpus, result);
  if (request.price_per_hour > 0) serving::add_cost(request.price_per_hour, result);
  if (request.mlperf) result.mlperf = serving::judge_mlperf(*request.mlperf, result, request.evaluation.slo);
  WM_TRY(result.records.status());
  return result;
}

}  // namespace warpmark::loadtest
