#include "loadtest/run_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "loadtest/clients.h"
#include "loadtest/measure.h"
#include "loadtest/outputs.h"
#include "loadtest/pages/load_verdict.h"
#include "loadtest/workload.h"
#include "serving/results/level_search.h"
#include "stats/random.h"

namespace warpmark::loadtest {
namespace {

using serving::ScenarioResult;

/// The loads of one command, one after another.
class LoadRun {
 public:
  LoadRun(const Surroundings& around, const PreparedLoad& request, const serving::TokenFit& fit, LoadOutputs& outputs)
      : around_(around), request_(request), fit_(fit), outputs_(outputs) {
    place_.records_file = outputs.records_file;
  }

  Status all() {
    if (request_.search_most > 0) return search();
    if (request_.sweep_rates) return sweep();
    for (const auto& step : request_.steps) {
      ++place_.step;
      if (interrupted_ || around_.interrupted.load()) break;
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
    WM_ASSIGN(auto result, measure_load(around_, request_, step, fit_, place_));
    interrupted_ = interrupted_ || result.interrupted;
    return result;
  }

  Status keep(ScenarioResult result) {
    if (place_.steps != 1 && around_.measured) around_.measured(result);
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

  const Surroundings& around_;
  const PreparedLoad& request_;
  const serving::TokenFit& fit_;
  LoadOutputs& outputs_;
  LoadPlace place_{.step = 0, .steps = static_cast<std::int64_t>(request_.steps.size())};
  bool interrupted_ = false;
};

/// Of a task; empty without one.
std::string first_question(const PreparedLoad& request) {
  return request.questions == nullptr ? "" : request.steps.front().traffic.dataset.front().body;
}

serving::ProbeOptions probe_for(const PreparedLoad& load, const Surroundings& around) {
  const bool texts = std::string_view(load.target.api->task) == "text-to-text";
  return {.calibrate = load.calibrate && texts,
          .own_words = load.steps.front().traffic.dataset.empty(),
          .deadline_s = std::min(load.request_timeout_s, 60.0),
          .seed = stats::derive_seed(load.seed, 0),
          .body = first_question(load),
          .interrupted = &around.interrupted};
}

LoadTest finish(LoadOutputs outputs, const Status& measured, bool interrupted) {
  LoadTest test{.report = {}, .ended = finish_outputs(outputs, measured, interrupted), .interrupted = interrupted};
  test.stored = outputs.store != nullptr && test.ended.ok();
  test.report = std::move(outputs.report);
  return test;
}

Result<LoadTest> ask_workload(const PreparedLoad& load, const Surroundings& around) {
  WM_ASSIGN(LoadOutputs outputs, open_outputs(load, around));
  const Status measured = measure_workload(around, load, outputs);
  return finish(std::move(outputs), measured, around.interrupted.load());
}

Result<LoadTest> ask_server(const PreparedLoad& load, const Surroundings& around) {
  if (load.levels.seed) {
    around.say(fmt::format(
        "note: --seed {}: each run with it sends the same prompts, which the server's prefix cache may have "
        "from the run before",
        load.seed));
  }
  const auto probed = serving::inspect_server(load.target, probe_for(load, around));
  if (!probed.ok() && around.interrupted.load()) return LoadTest{.interrupted = true};
  if (!probed.ok()) return probed.error();
  if (!probed->note.empty()) around.say("note: " + probed->note);
  WM_ASSIGN(LoadOutputs outputs, open_outputs(load, around));
  if (!probed->note.empty()) outputs.report.notes.push_back(probed->note);
  outputs.report.first_s = probed->first_s;
  outputs.report.warm_s = probed->warm_s;
  outputs.report.repeated_s = probed->repeated_s;
  outputs.report.cached_tokens = probed->cached_tokens;
  if (around.needs_time) around.needs_time(load.clients > 0 ? 600 : 60);  // records of clients come over the network
  LoadRun run(around, load, probed->fit, outputs);
  const Status measured = run.all();
  return finish(std::move(outputs), measured, run.interrupted() || around.interrupted.load());
}

}  // namespace

Result<LoadTest> run_load(const LoadRequest& request, const Surroundings& around) {
  WM_ASSIGN(const PreparedLoad load, prepare(request, around));
  return load.workload.empty() ? ask_server(load, around) : ask_workload(load, around);
}

}  // namespace warpmark::loadtest
