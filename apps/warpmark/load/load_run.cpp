// `warpmark load run`: every scenario at every load, one after another; each is kept as it ends.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/quantity.h"
#include "serving/client/load_client.h"
#include "serving/results/exports.h"
#include "serving/results/genai_folder.h"
#include "serving/results/level_search.h"
#include "serving/results/load_runs.h"
#include "serving/selftest.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_live.h"
#include "warpmark/load/load_request.h"
#include "warpmark/sessions/build_info.h"
#include "warpmark/sessions/new_session.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"

namespace warpmark::apps {
namespace {

using serving::LoadReport;
using serving::ScenarioResult;

/// Where results go as they come.
struct Outputs {
  Context& context;
  const ParsedOptions& options;
  std::unique_ptr<store::Store> store;
  Session session;
  LoadReport report;
};

Result<Outputs> open_outputs(Context& context, const ParsedOptions& options, const LoadRequest& request) {
  WM_TRY(check_outputs(options));
  for (const char* name : {"--requests-csv", "--vllm-json"}) {
    if (options.has(name)) WM_TRY(check_writable(options.get(name)));
  }
  if (options.has("--experiment-folder-name")) WM_TRY(check_output_folder(options.get("--experiment-folder-name")));
  Outputs outputs{
      .context = context, .options = options, .store = nullptr, .session = new_session(context), .report = {}};
  if (!options.has("--no-store")) {
    WM_ASSIGN(outputs.store, open_store(context, options));
    WM_TRY(outputs.store->begin(outputs.session));
  }
  LoadReport& report = outputs.report;
  report.id = outputs.session.id;
  report.started = outputs.session.started;
  report.command = outputs.session.command;
  report.version = outputs.session.build.version;
  report.host = outputs.session.machine.hostname;
  report.complete = false;
  report.notes = request.notes;
  report.target = {{"base", request.target.bases.front().text()},
                   {"model", request.target.model},
                   {"api", request.target.api->id},
                   {"task", request.target.api->task}};
  report.target.insert(report.target.end(), request.labels.begin(), request.labels.end());
  return outputs;
}

Status write_outputs(const Outputs& outputs) {
  const auto& options = outputs.options;
  if (options.has("--json")) WM_TRY(write_file(options.get("--json"), dump_json(to_json(outputs.report)) + "\n"));
  if (options.has("--requests-csv")) {
    WM_TRY(write_file(options.get("--requests-csv"), serving::requests_csv(outputs.report)));
  }
  if (options.has("--vllm-json") && !outputs.report.scenarios.empty()) {
    const Json json = serving::vllm_json(outputs.report, outputs.report.scenarios.back());
    WM_TRY(write_file(options.get("--vllm-json"), dump_json(json) + "\n"));
  }
  if (!options.has("--experiment-folder-name")) return {};
  const std::string folder = options.get("--experiment-folder-name");
  WM_TRY(make_named_folder(folder));
  for (const auto& [name, json] : serving::genai_files(outputs.report)) {
    WM_TRY(write_file(folder + "/" + name, dump_json(json) + "\n"));
  }
  return write_file(folder + "/warpmark_load.json", dump_json(to_json(outputs.report)) + "\n");
}

Status keep(Outputs& outputs, ScenarioResult result) {
  outputs.context.out << scenario_text(outputs.context, result) << std::flush;
  outputs.report.scenarios.push_back(std::move(result));
  const auto index = static_cast<std::int64_t>(outputs.report.scenarios.size()) - 1;
  if (outputs.store != nullptr) {
    const Run run = serving::run_of(outputs.report, outputs.report.scenarios.back(), index);
    WM_TRY(outputs.store->append_run(outputs.session.id, run));
  }
  return write_outputs(outputs);
}

serving::LoadPlan finished_plan(serving::LoadPlan plan, const LoadRequest& request, Context& context) {
  plan.request_timeout_s = request.request_timeout_s;
  plan.stall_timeout_s = request.stall_timeout_s;
  plan.drain_s = request.drain_s;
  plan.keep_connections = request.keep_connections;
  if (!plan.closed) plan.users = request.most_in_flight;
  if (!plan.keep_connections) plan.connect_ahead = 0;
  plan.interrupted = &context.interrupted;
  return plan;
}

Result<ScenarioResult> measure(Context& context, const LoadRequest& request, const LoadStep& step,
                               const serving::TokenFit& fit) {
  WM_ASSIGN(auto prepared, serving::prepare_load(request.target, step.traffic, fit));
  serving::LoadPlan plan = finished_plan(std::move(prepared), request, context);
  serving::LiveCounters live;
  std::atomic<bool> enough{false}, ended{false};
  plan.live = &live;
  plan.enough = &enough;
  const std::string started = format_utc(wall_clock_s());
  const serving::CpuPair cpus = serving::separate_cpus();
  const std::vector<int> pinned =
      request.threads == 1 && cpus.client >= 0 ? std::vector<int>{cpus.client} : std::vector<int>{};
  std::optional<Result<serving::LoadOutcome>> outcome;
  std::thread load([&] {
    outcome = serving::run_load_on(plan, request.threads, pinned);
    ended.store(true);
  });
  LoadLine line(context, step.traffic);
  while (!ended.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    line.show(live);
    if (request.precision > 0 && precise_enough(live, request.precision_metric, request.precision)) enough.store(true);
  }
  load.join();
  line.clear();
  if (!outcome->ok()) return outcome->error();
  ScenarioResult result = serving::evaluate_load(std::move(**outcome), plan, request.evaluation);
  result.scenario = step.traffic.scenario.text;
  result.arrivals = serving::to_text(step.traffic.arrivals);
  result.users = step.traffic.users;
  result.rate = step.traffic.arrivals.rate;
  if (step.traffic.arrivals.kind == serving::ArrivalKind::trace && result.wall_s > 0) {
    result.rate = static_cast<double>(plan.due_ns.size()) / std::max(result.wall_s, 1e-9);
  }
  result.started = started;
  return result;
}

bool has_objective(const ScenarioResult& result, const char* verdict) {
  return std::any_of(result.slo.begin(), result.slo.end(),
                     [&](const auto& outcome) { return outcome.verdict == verdict; });
}

serving::LevelVerdict level_verdict(const ScenarioResult& result) {
  using serving::LevelVerdict;
  if (result.interrupted) return LevelVerdict::stopped;
  if (has_objective(result, "missed")) return LevelVerdict::missed;
  const bool shown = result.completed > 0 && result.client.trusted && !has_objective(result, "undecided");
  return shown ? LevelVerdict::met : LevelVerdict::undecided;
}

/// The highest load at which the first scenario meets the objectives, beginning at the first load given.
Status search(Context& context, const LoadRequest& request, const serving::TokenFit& fit, Outputs& outputs) {
  LoadStep step = request.steps.front();
  const bool closed = step.traffic.arrivals.kind == serving::ArrivalKind::closed;
  const auto look = [&](double level) -> Result<serving::LevelVerdict> {
    step.traffic.arrivals.rate = closed ? 0 : level;
    if (closed) step.traffic.users = static_cast<std::int64_t>(level);
    WM_ASSIGN(auto result, measure(context, request, step, fit));
    const auto verdict = level_verdict(result);
    WM_TRY(keep(outputs, std::move(result)));
    return verdict;
  };
  const serving::LevelSearch bounds{.least = step.level, .most = request.search_most, .whole = closed};
  WM_ASSIGN(const auto found, serving::search_level(bounds, look));
  outputs.report.search_met = found.met > 0 && found.confirmed;
  outputs.report.search = found.sentence(closed ? "users" : "requests/s");
  return {};
}

int exit_code(const LoadReport& report, bool interrupted) {
  if (interrupted) return kInterrupted;
  const auto& scenarios = report.scenarios;
  const auto any = [&](auto holds) { return std::any_of(scenarios.begin(), scenarios.end(), holds); };
  if (any([](const auto& result) { return result.completed == 0; })) return kEnvironment;
  if (report.search && report.search_met) return kSuccess;
  if (any([](const auto& result) { return !result.client.trusted; })) return kEnvironment;
  if (any([](const auto& result) { return has_objective(result, "missed"); })) return kGateFailed;
  if (report.search) return kInconclusive;
  return any([](const auto& result) { return has_objective(result, "undecided"); }) ? kInconclusive : kSuccess;
}

}  // namespace

Result<int> load_run(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const LoadRequest request, load_request_of(context, options));
  for (const auto& note : request.notes) context.err << "note: " << note << '\n';
  const bool texts = std::string_view(request.target.api->task) == "text-to-text";
  const auto looked = serving::look_at_server(request.target, request.calibrate && texts, 60, &context.interrupted);
  if (!looked.ok() && context.interrupted.load()) {
    context.err << "warpmark: interrupted before the load began\n";
    return kInterrupted;
  }
  if (!looked.ok()) return looked.error();
  const auto& look = *looked;
  if (!look.note.empty()) context.err << "note: " << look.note << '\n';
  WM_ASSIGN(Outputs outputs, open_outputs(context, options, request));
  if (!look.note.empty()) outputs.report.notes.push_back(look.note);
  set_grace(10);
  bool interrupted = false;
  if (request.search_most > 0) WM_TRY(search(context, request, look.fit, outputs));
  for (const auto& step : request.search_most > 0 ? std::vector<LoadStep>() : request.steps) {
    if (interrupted || context.interrupted.load()) break;
    WM_ASSIGN(auto result, measure(context, request, step, look.fit));
    interrupted = result.interrupted;
    WM_TRY(keep(outputs, std::move(result)));
  }
  interrupted = interrupted || context.interrupted.load();
  outputs.report.complete = !interrupted;
  context.out << summary_text(context, outputs.report.scenarios) << std::flush;
  if (outputs.report.search) context.out << *outputs.report.search << '\n' << std::flush;
  WM_TRY(write_outputs(outputs));
  if (outputs.store != nullptr) {
    if (!interrupted) WM_TRY(outputs.store->finish(outputs.session.id, {}));
    context.err << stored_note(outputs.session.id);
  }
  if (interrupted) context.err << "warpmark: interrupted; what was measured is kept\n";
  return exit_code(outputs.report, interrupted);
}

}  // namespace warpmark::apps
