#include "optimize/apply/optimize_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "device/cpu/memory.h"
#include "device/cpu/topology.h"
#include "optimize/apply/program_trials.h"
#include "optimize/findings.h"
#include "optimize/plan.h"
#include "optimize/search.h"
#include "optimize/stages/optimization_states.h"
#include "stats/summary.h"
#include "validate/commands/command_experiment.h"

namespace warpmark::optimize {
namespace {

constexpr double kProbe_s = 2.5;
constexpr double kRunAfterStart_s = 4;  // warm-up and window of a fresh process

void say(const OptimizeOptions& options, const std::string& text) {
  if (options.log) options.log(text);
}

void note(const OptimizeOptions& options, Optimization& optimization, const std::string& text) {
  if (text.empty()) return;
  say(options, text);
  optimization.decisions.push_back(text);
}

/// What the hook says of a torch that it does not know; else empty.
std::string too_old(const workers::ProgramReport& report) {
  constexpr std::string_view kWhere = "torch: TooOld: ";
  for (const auto& fault : report.faults) {
    if (fault.starts_with(kWhere)) return fault.substr(kWhere.size());
  }
  return {};
}

std::string why_whole_runs(const ProgramRun& run, const std::string& unheard) {
  constexpr const char* kThen = ": whole runs are timed, and only your own settings (--knob) can be tried";
  const auto& report = run.report;
  if (!run.heard) {
    const auto why = unheard.empty() ? "no Python process of the program loads the hook (a frozen program, python -I, "
                                       "or no Python at all)"
                                     : unheard + ", so that the hook is not loaded";
    return why + kThen;
  }
  if (const auto old = too_old(report); !old.empty()) return old + kThen;
  if (report.torch.empty()) return std::string("the program does not import torch") + kThen;
  return fmt::format("only {} steps were found", report.steps.size()) + kThen;
}

/// The settings, but those of torch where only whole runs can be timed.
SearchOptions search_options(const FirstProbe& probe, const OptimizeOptions& options) {
  auto proposing = options.proposals;
  proposing.asked_only = proposing.asked_only || probe.run.time_of == TimeOf::run;
  SearchOptions search;
  search.effect = options.effect;
  search.log = options.log;
  search.propose = [proposing](const ProgramFacts& facts, const Settings& settings) {
    return proposals(facts, settings, proposing);
  };
  return search;
}

TrialOptions trial_options(const FirstProbe& probe, const OptimizeOptions& options) {
  return {.run = probe.run,
          .quality = options.quality,
          .loss_margin = options.loss_margin,
          .in_process = options.in_process,
          .max_steps = probe.most_steps,
          .window_steps = options.window_steps,
          .window_s = options.window_s,
          .effect = options.effect,
          .alpha = options.alpha,
          .rounds = options.rounds};
}

/// Stopped before there is a baseline: an optimization that says so, and has nothing else to say.
Result<Optimization> stopped_or(const Error& error, const ProgramRuns& runs, Optimization optimization) {
  optimization.stopped_because = runs.why_stopped();
  if (optimization.stopped_because.empty()) return error;
  optimization.verdict =
      optimization.stopped_because + " before the original was measured; run the same command to continue";
  optimization.decisions.push_back(optimization.stopped_because);
  optimization.spent_s = runs.spent_s();
  optimization.runs = runs.count();
  return optimization;
}

/// As many runs as the machine has room for start at once.
void start_together(ProgramRuns& runs, const FirstProbe& probe, const OptimizeOptions& options,
                    Optimization& optimization) {
  if (options.start_ahead < 2 || probe.run.time_of == TimeOf::run) return;
  const auto available = static_cast<double>(device::read_memory("/").available_bytes);
  ProgramRun like;
  like.report = probe.facts.report;
  like.host_bytes = probe.host_bytes;
  const int most = most_together(like, static_cast<int>(options.start_ahead), available,
                                 static_cast<int>(device::usable_cpus().size()));
  runs.start_together(most);
  if (most > 1) note(options, optimization, fmt::format("{} runs start in parallel and are timed one at a time", most));
}

double spread_of(const std::vector<double>& times) {
  if (times.size() < 2) return 0;
  std::vector<double> logs;
  for (const double time : times) logs.push_back(std::log(time));
  return std::sqrt(stats::moments_of(logs).variance());
}

OptimizationState state_of(const FirstProbe& probe, const std::vector<double>& times) {
  OptimizationState state;
  const auto& report = probe.facts.report;
  state.seconds_per_step = stats::median(times);
  state.spread = spread_of(times);
  if (report.window) {
    state.steps = report.window->steps;
    state.start_s = report.window->before_s;
    const double samples = static_cast<double>(report.window->samples) / static_cast<double>(report.window->steps);
    if (probe.run.time_of == TimeOf::sample) state.samples_per_s = samples / state.seconds_per_step;
  }
  if (probe.memory_bytes > 0) state.memory_bytes = probe.memory_bytes;
  state.gpu_utilization = probe.gpu_utilization;
  state.joules_per_step = probe.joules_per_step;
  state.phases = phases_of(probe.facts);
  return state;
}

/// Fresh processes measured the original, too. What is reported are their geometric means, whose ratio is the speedup.
void adopt_proof(Optimization& optimization, const FirstProbe& probe) {
  if (optimization.times_original_s.empty() || probe.run.time_of == TimeOf::run) return;
  const auto& before = optimization.baseline;
  const double samples = before.samples_per_s ? *before.samples_per_s * before.seconds_per_step : 1;
  const bool has_samples = before.samples_per_s.has_value();
  const auto adopt = [&](OptimizationState& state, const std::vector<double>& times) {
    const double time_s = stats::geometric_mean(times).value_or(stats::median(times));
    state.seconds_per_step = time_s * samples;
    state.spread = spread_of(times);
    if (has_samples) state.samples_per_s = 1 / time_s;
  };
  adopt(optimization.baseline, optimization.times_original_s);
  if (optimization.optimized && !optimization.times_optimized_s.empty())
    adopt(*optimization.optimized, optimization.times_optimized_s);
}

Result<Optimization> optimization_from(ProgramRuns& runs, const OptimizeOptions& options, const Settings* plan) {
  Optimization optimization;
  optimization.program = command_line(runs.program().words);
  auto seen = inspect(runs, options);
  if (!seen.ok()) return stopped_or(seen.error(), runs, std::move(optimization));
  FirstProbe probe = std::move(*seen);
  if (!probe.note.empty()) optimization.decisions.push_back(probe.note);
  if (probe.facts.analyzed) note(options, optimization, "the analysis: " + found_text(findings_of(options.findings)));
  start_together(runs, probe, options, optimization);
  ProgramTrials trials(runs, trial_options(probe, options), probe.first, probe.facts);
  const auto times = trials.base_times(probe.first);
  if (!times.ok()) return stopped_or(times.error(), runs, std::move(optimization));
  probe.facts.seconds_per_step = stats::median(*times);
  optimization.baseline = state_of(probe, *times);
  optimization.unit = name_of(probe.run.time_of);
  const auto& report = probe.facts.report;
  optimization.torch = report.torch;
  optimization.device = probe.facts.on_gpu() && !report.gpus.empty() ? report.gpus.front().name : "cpu";
  optimization.ranks = std::max<std::int64_t>(1, report.world);
  say(options, fmt::format("baseline: {} per {}", format_seconds(optimization.baseline.seconds_per_step),
                           probe.run.time_of == TimeOf::run ? "run" : "step"));
  const auto searching = search_options(probe, options);
  if (plan != nullptr) {
    WM_TRY(prove(trials, probe.facts, *plan, searching, optimization));
  } else {
    WM_TRY(search(trials, probe.facts, searching, optimization));
  }
  adopt_proof(optimization, probe);
  if (trials.share_left_out() > 0) optimization.baseline.evaluation_share = trials.share_left_out();
  optimization.findings = trials.findings().empty() ? findings_of(options.findings) : trials.findings();
  optimization.recorded_seconds_per_step = trials.recorded_step_s();
  optimization.advice = advice_for(probe.facts, plan_of(optimization), optimization.steps);
  for (auto& advice : advice_of_findings(optimization.findings, plan_of(optimization))) {
    optimization.advice.push_back(std::move(advice));
  }
  optimization.spent_s = runs.spent_s();
  optimization.runs = runs.count();
  optimization.stopped_because = optimization.complete            ? "done"
                                 : optimization.decisions.empty() ? "stopped"
                                                                  : optimization.decisions.back();
  return optimization;
}

/// Of a program without steps.
Result<FirstProbe> probe_whole(ProgramRuns& runs, FirstProbe probe) {
  probe.run.time_of = TimeOf::run;
  probe.run.plan.window_s = 0;
  probe.run.plan.stop = false;
  probe.run.plan.sync_phases = false;
  probe.run.plan.warmup_steps = 1'000'000'000;
  if (!probe.first.failure.empty() || probe.first.report.ended != "exit") {
    WM_ASSIGN(probe.first, runs.run({}, probe.run));
  }
  if (!probe.first.failure.empty()) {
    return data_error("the program " + probe.first.failure, "it must run without warpmark before it can be optimized");
  }
  // No run may take longer than ten of these; a hang is an outcome, and not the end.
  probe.run.deadline_s = std::min(probe.run.deadline_s, std::max(60.0, 10 * probe.first.wall_s));
  return probe;
}

}  // namespace

Result<FirstProbe> inspect(ProgramRuns& runs, const OptimizeOptions& options) {
  FirstProbe probe;
  probe.run.deadline_s = options.deadline_s;
  probe.run.amortize_steps = options.amortize_steps;
  probe.run.time_of = TimeOf::step;
  probe.run.plan = {.warmup_steps = 3,
                    .window_s = kProbe_s,
                    .stop = true,
                    .sync_phases = true,
                    .seed = static_cast<std::int64_t>(options.seed)};
  auto first = options.in_process ? runs.probe(probe.run) : runs.run({}, probe.run);
  if (!first.ok()) return first.error();
  probe.first = std::move(*first);
  const auto& run = probe.first;
  probe.facts = facts_of(run.report, run.gpu_utilization);
  probe.facts.found = gains_of(options.findings);
  probe.facts.analyzed = !probe.facts.found.empty();
  probe.host_bytes = run.host_bytes;
  probe.memory_bytes = run.memory_bytes.value_or(0);
  probe.gpu_utilization = run.gpu_utilization;
  probe.joules_per_step = run.joules_per_step;
  const auto steps = run.report.steps.size();
  if (!run.failure.empty() && !run.too_few_steps && run.heard) {
    return data_error("the program " + run.failure, "it must run without warpmark before it can be optimized");
  }
  probe.run.plan.sync_phases = false;
  constexpr std::size_t kFewestSteps = 4;
  if (steps < kFewestSteps) {
    probe.note = why_whole_runs(run, runs.why_unheard());
    say(options, probe.note);  // before the whole run, which may take long
    return probe_whole(runs, std::move(probe));
  }
  probe.run.plan.graphs_alone = run.report.marker == "graph";
  const bool has_samples = run.report.window && run.report.window->samples > 0;
  probe.run.time_of = has_samples ? TimeOf::sample : TimeOf::step;
  if (run.report.ended == "exit") probe.most_steps = static_cast<std::int64_t>(steps);
  probe.run.deadline_s = std::min(options.deadline_s, std::max(60.0, 10 * (run.wall_s + kRunAfterStart_s)));
  return probe;
}

Result<Optimization> optimize_program(ProgramRuns& runs, const OptimizeOptions& options) {
  return optimization_from(runs, options, nullptr);
}

Result<Optimization> prove_plan(ProgramRuns& runs, const Settings& plan, const OptimizeOptions& options) {
  return optimization_from(runs, options, &plan);
}

}  // namespace warpmark::optimize
