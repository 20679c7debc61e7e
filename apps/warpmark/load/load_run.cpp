// `warpmark load run`: every scenario at every load, one after another; each is kept as it ends.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "serving/results/level_search.h"
#include "stats/random.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_clients.h"
#include "warpmark/load/load_measure.h"
#include "warpmark/load/load_outputs.h"
#include "warpmark/load/pages/load_verdict.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"

namespace warpmark::apps {
namespace {

using serving::ScenarioResult;

/// The loads of one command, one after another.
class LoadRun {
 public:
  LoadRun(Context& context, const LoadRequest& request, const serving::TokenFit& fit, LoadOutputs& outputs)
      : context_(context), request_(request), fit_(fit), outputs_(outputs) {
    place_.records_file = outputs.records_file;
  }

  Status all() {
    if (request_.search_most > 0) return search();
    if (request_.sweep_rates) return sweep();
    for (const auto& step : request_.steps) {
      ++place_.step;
      if (interrupted_ || context_.interrupted.load()) break;
      if (done_earlier(outputs_.report, step)) continue;
      WM_ASSIGN(auto result, measure(step));
      WM_TRY(keep(std::move(result)));
    }
    return {};
  }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  /// Each with prompts of its own, so that none finds those of the load before in a prefix cache.
  Result<ScenarioResult> measure(LoadStep step) {
    step.traffic.seed = stats::derive_seed(request_.seed, static_cast<std::uint64_t>(place_.step));
    WM_ASSIGN(auto result, measure_load(context_, request_, step, fit_, place_));
    interrupted_ = interrupted_ || result.interrupted;
    return result;
  }

  /// The page comes when all are measured; until then a line for each of several.
  Status keep(ScenarioResult result) {
    if (place_.steps != 1 && !context_.quiet) {
      context_.err << fmt::format("{}, {}: {}; client {}\n", result.scenario, level_text(result), numbers_text(result),
                                  result.client.verdict())
                   << std::flush;
    }
    return keep_load(outputs_, std::move(result));
  }

  /// The step at another load.
  static LoadStep at_level(LoadStep step, double level, bool open_loop) {
    step.level = level;
    step.traffic.users = open_loop ? 0 : static_cast<std::int64_t>(level);
    if (!open_loop) step.traffic.arrivals = {};
    if (open_loop && step.traffic.arrivals.kind == serving::ArrivalKind::closed) {
      step.traffic.arrivals.kind = serving::ArrivalKind::poisson;
    }
    if (open_loop) step.traffic.arrivals.rate = level;
    return step;
  }

  /// The highest load at which the first scenario meets the objectives, beginning at the first load given.
  Status search() {
    const LoadStep& first = request_.steps.front();
    const bool open_loop = first.traffic.arrivals.kind != serving::ArrivalKind::closed;
    const auto probe = [&](double level) -> Result<serving::LevelVerdict> {
      ++place_.step;
      place_.steps = 0;
      WM_ASSIGN(auto result, measure(at_level(first, level, open_loop)));
      const auto verdict = level_verdict(result);
      WM_TRY(keep(std::move(result)));
      return verdict;
    };
    const serving::LevelSearch bounds{.least = first.level, .most = request_.search_most, .whole = !open_loop};
    WM_ASSIGN(const auto found, serving::search_level(bounds, probe));
    outputs_.report.search_met = found.met > 0 && found.confirmed;
    outputs_.report.search = found.sentence(open_loop ? "requests/s" : "users");
    return {};
  }

  /// Of the first scenario, from one user on.
  Status sweep() {
    const auto probe = [&](double level, bool open_loop) -> Result<serving::SweepProbe> {
      ++place_.step;
      place_.steps = 0;
      WM_ASSIGN(auto result, measure(at_level(request_.steps.front(), level, open_loop)));
      const auto* rate = metric_of(result, "request_throughput");
      const serving::SweepProbe seen{level, open_loop, rate == nullptr ? 0 : rate->mean, result.interrupted};
      WM_TRY(keep(std::move(result)));
      return seen;
    };
    WM_ASSIGN(const auto found, serving::sweep_loads({.rates = *request_.sweep_rates}, probe));
    outputs_.report.search = found.sentence();
    outputs_.report.search_met = found.saturated;
    return {};
  }

  Context& context_;
  const LoadRequest& request_;
  const serving::TokenFit& fit_;
  LoadOutputs& outputs_;
  LoadPlace place_{.step = 0, .steps = static_cast<std::int64_t>(request_.steps.size())};
  bool interrupted_ = false;
};

/// Of a task; empty without one.
std::string first_question(const LoadRequest& request) {
  return request.questions == nullptr ? "" : request.steps.front().traffic.dataset.front().body;
}

std::string repeats_note(const LoadRequest& request) {
  return fmt::format(
      "--seed {}: each run with it sends the same prompts, which the server's prefix cache may have from "
      "the run before",
      request.seed);
}

}  // namespace

Result<int> load_run(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const LoadRequest request, load_request_of(context, options));
  if (!request.workload.empty()) return load_workload(context, options, request);
  if (is_load_client(context)) return load_as_client(context, request);
  for (const auto& note : request.notes) context.err << "note: " << note << '\n';
  if (request.seed_given) context.err << "note: " << repeats_note(request) << '\n';
  const bool texts = std::string_view(request.target.api->task) == "text-to-text";
  const serving::ProbeOptions probe{.calibrate = request.calibrate && texts,
                                    .own_words = request.steps.front().traffic.dataset.empty(),
                                    .deadline_s = std::min(request.request_timeout_s, 60.0),
                                    .seed = stats::derive_seed(request.seed, 0),
                                    .body = first_question(request),
                                    .interrupted = &context.interrupted};
  const auto probed = serving::inspect_server(request.target, probe);
  if (!probed.ok() && context.interrupted.load()) {
    context.err << "warpmark: interrupted before the load began\n";
    return kInterrupted;
  }
  if (!probed.ok()) return probed.error();
  if (!probed->note.empty()) context.err << "note: " << probed->note << '\n';
  WM_ASSIGN(LoadOutputs outputs, open_load_outputs(context, options, request));
  if (!probed->note.empty()) outputs.report.notes.push_back(probed->note);
  outputs.report.first_s = probed->first_s;
  outputs.report.warm_s = probed->warm_s;
  outputs.report.repeated_s = probed->repeated_s;
  outputs.report.cached_tokens = probed->cached_tokens;
  set_grace(request.clients > 0 ? 600 : 60);  // records of clients come over the network
  LoadRun run(context, request, probed->fit, outputs);
  const Status measured = run.all();
  return finish_load(outputs, measured, run.interrupted() || context.interrupted.load());
}

}  // namespace warpmark::apps
