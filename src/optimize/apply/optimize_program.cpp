#include "optimize/apply/optimize_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/command_line.h"
#include "base/quantity.h"
#include "device/cpu/memory.h"
#include "device/cpu/topology.h"
#include "optimize/advice.h"
#include "optimize/apply/program_trials.h"
#include "optimize/apply/recorded_run.h"
#include "optimize/apply/window_length.h"
#include "optimize/findings.h"
#include "optimize/journey_states.h"
#include "optimize/outcome.h"
#include "optimize/search.h"
#include "stats/summary.h"
#include "validate/commands/command_experiment.h"

namespace warpmark::optimize {
namespace {

constexpr std::int64_t kBaselines = 3;
constexpr double kLeastWindow_s = 1;
constexpr double kMostWindow_s = 10;
constexpr double kFirstLook_s = 4;

/// Without those in which it was still warming up, where there are enough.
std::vector<double> times_of_steps(const workers::ProgramReport& report) {
  std::vector<double> times;
  const auto& steps = report.steps;
  for (std::size_t i = steps.size() > 4 ? 3 : 1; i < steps.size(); ++i) {
    times.push_back(steps[i].end_s - steps[i - 1].end_s);
  }
  return times;
}

/// As many steps as were asked for, take the time that was, or the test needs; all of a program that has no more. What
/// a run of so many tells.
std::string choose_window(const workers::ProgramReport& report, const OptimizeOptions& options, RunOptions& run) {
  const auto seen = static_cast<std::int64_t>(report.steps.size());
  auto& plan = run.plan;
  plan.warmup_steps = std::clamp<std::int64_t>(seen / 4, 1, 5);
  plan.graphs_alone = report.marker == "graph";
  const double least_s = options.window_s > 0 ? options.window_s : kLeastWindow_s;
  const double most_s = options.window_s > 0 ? options.window_s : kMostWindow_s;
  const auto length = window_length(times_of_steps(report), options.effect, least_s, most_s);
  plan.window_steps = options.window_steps > 0 ? options.window_steps : std::min<std::int64_t>(length.steps, 100'000);
  const bool whole = report.ended == "exit";
  if (whole) plan.window_steps = std::min(plan.window_steps, seen - plan.warmup_steps);
  plan.window_s = 0;
  plan.stop = true;
  const double error = length.error * std::sqrt(static_cast<double>(length.steps) /
                                                static_cast<double>(std::max<std::int64_t>(1, plan.window_steps)));
  return fmt::format("runs of {} steps: within one they tell their mean to {}", plan.window_steps,
                     format_percent(error));
}

struct Baselines {
  std::vector<ProgramRun> runs;
  JourneyState state;
};

bool records(const FirstLook& look, const OptimizeOptions& options) {
  return look.run.time_of != TimeOf::run && !options.proposals.asked_only;
}

Result<Baselines> measure_baselines(ProgramRuns& runs, FirstLook& look, const OptimizeOptions& options) {
  Baselines baselines;
  auto& run = look.run;
  if (run.time_of != TimeOf::run) {
    std::vector<std::pair<Settings, RunOptions>> expected(kBaselines, {Settings{}, run});
    if (records(look, options)) expected.emplace_back(Settings{}, recorded_run(run, false));
    if (records(look, options) && look.facts.on_gpu()) expected.emplace_back(Settings{}, recorded_run(run, true));
    runs.expect(std::move(expected));
  }
  for (std::int64_t i = 0; i < kBaselines; ++i) {
    WM_ASSIGN(auto one, runs.run({}, run));
    if (i == 0 && run.time_of == TimeOf::sample && one.report.window && one.report.window->samples == 0) {
      run.time_of = TimeOf::step;
      const auto& window = *one.report.window;
      one.time_s = window.seconds / static_cast<double>(window.steps);
      Metric& metric = one.run.metrics.emplace_back(Metric{.id = "time", .unit = "s", .samples = {one.time_s}});
      metric.round_sizes = {1};
      metric.summary = stats::summarize(metric.samples);
      one.failure.clear();
    }
    if (!one.failure.empty())
      return data_error("the program " + one.failure, "it must run by itself before it can be optimized");
    // No run may take longer than ten of these; a hang is an outcome, and not the end.
    if (i == 0) run.deadline_s = std::min(options.deadline_s, std::max(60.0, 10 * one.wall_s));
    baselines.runs.push_back(std::move(one));
  }
  std::vector<double> times, memory, busy, energy;
  const auto add = [](std::vector<double>& values, const std::optional<double>& value) {
    if (value) values.push_back(*value);
  };
  for (const auto& one : baselines.runs) {
    times.push_back(one.time_s);
    add(memory, one.memory_bytes);
    add(busy, one.gpu_utilization);
    add(energy, one.joules_per_step);
  }
  auto& state = baselines.state;
  const auto& report = baselines.runs.front().report;
  state.spread = log_spread(times);
  const double time_s = stats::median(times);
  state.seconds_per_step = time_s;
  if (report.window) {
    state.steps = report.window->steps;
    state.start_s = report.window->before_s;
    state.seconds_per_step = report.window->seconds / static_cast<double>(report.window->steps);
  }
  if (run.time_of == TimeOf::sample) state.samples_per_s = 1 / time_s;
  if (!memory.empty()) state.memory_bytes = stats::median(memory);
  // Of runs that waited for their turn a small program had its GPU before it was looked at; the first look saw it
  // begin.
  state.gpu_utilization = busy.empty() ? look.gpu_utilization : stats::median(busy);
  state.joules_per_step = energy.empty() ? look.joules_per_step : stats::median(energy);
  state.phases = phases_of(look.facts);
  return baselines;
}

/// What the hook says of a torch that it does not know; else empty.
std::string too_old(const workers::ProgramReport& report) {
  constexpr std::string_view kWhere = "torch: TooOld: ";
  for (const auto& fault : report.faults) {
    if (fault.starts_with(kWhere)) return fault.substr(kWhere.size());
  }
  return {};
}

/// The knobs, but those of torch where only whole runs can be timed.
SearchOptions search_options(const FirstLook& look, const OptimizeOptions& options) {
  auto proposing = options.proposals;
  proposing.asked_only = proposing.asked_only || look.run.time_of == TimeOf::run;
  SearchOptions search;
  search.effect = options.effect;
  search.log = options.log;
  search.propose = [proposing](const ProgramFacts& facts, const Settings& settings) {
    return proposals(facts, settings, proposing);
  };
  return search;
}

TrialOptions trial_options(const FirstLook& look, const OptimizeOptions& options) {
  TrialOptions trial{.run = look.run, .last_run = look.run};
  trial.recording_tells = look.facts.analyzed;
  trial.screens_within = options.screens_within;
  trial.most_steps = look.most_steps;
  auto& steps = trial.last_run.plan.window_steps;
  steps *= 2;
  if (look.most_steps > 0) steps = std::min(steps, look.most_steps);
  trial.quality = options.quality;
  trial.answers.margin = options.loss_margin;
  trial.effect = options.effect;
  trial.alpha = options.alpha;
  trial.rounds = options.rounds;
  trial.seed = options.seed;
  return trial;
}

void say(const OptimizeOptions& options, const std::string& text) {
  if (options.log) options.log(text);
}

/// Stopped before there is a baseline: a journey that says so, and has nothing else to say.
Result<Journey> stopped_or(const Error& error, const ProgramRuns& runs, Journey journey) {
  journey.stopped_because = runs.why_stopped();
  if (journey.stopped_because.empty()) return error;
  journey.verdict = journey.stopped_because + " before the baseline was measured; give the same command again to go on";
  journey.decisions.push_back(journey.stopped_because);
  journey.spent_s = runs.spent_s();
  journey.runs = runs.count();
  return journey;
}

/// Where asked for; as many as the machine has room for.
void start_ahead(ProgramRuns& runs, const FirstLook& look, const OptimizeOptions& options, Journey& journey) {
  if (options.start_ahead < 2) return;
  const auto available = static_cast<double>(device::read_memory("/").available_bytes);
  ProgramRun like;
  like.report = look.facts.report;
  like.host_bytes = look.host_bytes;
  const int most = most_together(like, static_cast<int>(options.start_ahead), available,
                                 static_cast<int>(device::usable_cpus().size()));
  runs.start_together(most);
  std::string text = "runs start one after another: several ranks, no steps, too few processors or too little memory";
  if (most > 1) text = fmt::format("{} runs of a test start at once, and take their steps one after another", most);
  say(options, text);
  journey.decisions.push_back(text);
}

/// At least, where both are of one time.
std::int64_t runs_of_a_test(const OptimizeOptions& options) { return 2 * fewest_rounds(options.alpha); }

/// What is left of the budget, in runs: a person may see at once that it is too short.
void tell_budget(const ProgramRuns& runs, const OptimizeOptions& options, Journey& journey) {
  if (options.budget_s <= 0) return;
  const auto test = runs_of_a_test(options);
  const double left = std::max(0.0, runs.left_s() / runs.longest_s());
  std::string text = fmt::format("the rest of the budget is enough for about {:.0f} runs; to try a knob takes up to {}",
                                 std::floor(left), test + 1);
  // Recordings, screening, the test of one knob and the last test.
  const double whole_s = options.budget_s - runs.left_s() + runs.longest_s() * static_cast<double>(2 * test + 6);
  if (left < static_cast<double>(2 * test + 6)) {
    text += fmt::format(": to prove one, give --budget {:.0f}m or more, or come back with the same command",
                        std::ceil(whole_s / 60));
  }
  say(options, text);
  journey.decisions.push_back(text);
}

/// What the analysis finds in a few recorded steps; on a GPU once more with stacks, which name lines and slow down.
Status record_original(ProgramRuns& runs, FirstLook& look, const OptimizeOptions& options, Journey& journey) {
  if (!records(look, options)) return {};
  WM_ASSIGN(auto run, runs.run({}, recorded_run(look.run, false)));
  auto text = add_found(run, look.facts);
  if (text.empty()) {
    text = look.facts.on_gpu() ? "no steps could be recorded: candidates follow the phases of a step"
                               : "the analysis judges work of GPUs, and there is none: candidates follow the phases of "
                                 "a step";
  }
  say(options, text);
  journey.decisions.push_back(text);
  journey.findings = std::move(run.findings);
  // Lines are worth a run where the budget is enough for a knob as well.
  if (!run.gpu_work || journey.findings.empty() || !runs.affords(1 + runs_of_a_test(options))) return {};
  WM_ASSIGN(const auto placed, runs.run({}, recorded_run(look.run, true)));
  for (auto& finding : journey.findings) {
    for (const auto& other : placed.findings) {
      if (other.rule == finding.rule) finding.where = other.where;
    }
  }
  return {};
}

Result<Journey> journey_from(ProgramRuns& runs, const OptimizeOptions& options, const Settings* plan) {
  Journey journey;
  journey.program = command_line(runs.program().words);
  auto seen = look_at(runs, options);
  if (!seen.ok()) return stopped_or(seen.error(), runs, std::move(journey));
  FirstLook look = std::move(*seen);
  if (!look.note.empty()) {
    say(options, look.note);
    journey.decisions.push_back(look.note);
  }
  if (!look.window.empty()) {
    say(options, look.window);
    journey.decisions.push_back(look.window);
  }
  start_ahead(runs, look, options, journey);
  auto baselines = measure_baselines(runs, look, options);
  if (!baselines.ok()) return stopped_or(baselines.error(), runs, std::move(journey));
  journey.baseline = baselines->state;
  journey.unit = name_of(look.run.time_of);
  const auto& report = look.facts.report;
  journey.torch = report.torch;
  journey.device = look.facts.on_gpu() && !report.gpus.empty() ? report.gpus.front().name : "cpu";
  journey.ranks = std::max<std::int64_t>(1, report.world);
  say(options, fmt::format("baseline: {} a {}, repeated runs differ by {}",
                           format_seconds(stats::median(std::vector<double>{
                               baselines->runs[0].time_s, baselines->runs[1].time_s, baselines->runs[2].time_s})),
                           journey.unit, format_percent(journey.baseline.spread)));
  tell_budget(runs, options, journey);
  const auto found = record_original(runs, look, options, journey);
  runs.expect({});
  if (!found.ok()) return stopped_or(found.error(), runs, std::move(journey));
  ProgramTrials trials(runs, trial_options(look, options), std::move(baselines->runs));
  auto searching = search_options(look, options);
  if (plan != nullptr) {
    WM_TRY(prove(trials, look.facts, *plan, searching, journey));
  } else {
    WM_TRY(search(trials, look.facts, searching, journey));
  }
  journey.advice = advice_for(look.facts, plan_of(journey));
  for (auto& advice : advice_of_findings(journey.findings, plan_of(journey))) {
    journey.advice.push_back(std::move(advice));
  }
  journey.spent_s = runs.spent_s();
  journey.runs = runs.count();
  journey.stopped_because = journey.complete            ? "done"
                            : journey.decisions.empty() ? "stopped"
                                                        : journey.decisions.back();
  return journey;
}

}  // namespace

Result<FirstLook> look_at(ProgramRuns& runs, const OptimizeOptions& options) {
  FirstLook look;
  look.run.deadline_s = options.deadline_s;
  look.run.amortize_steps = options.amortize_steps;
  look.run.time_of = TimeOf::step;
  look.run.plan = {.warmup_steps = 3,
                   .window_s = options.window_s > 0 ? std::max(2.0, 2 * options.window_s) : kFirstLook_s,
                   .stop = true,
                   .sync_phases = true,
                   .seed = static_cast<std::int64_t>(options.seed)};
  WM_ASSIGN(const auto run, runs.run({}, look.run));
  look.facts = facts_of(run.report);
  look.host_bytes = run.host_bytes;
  look.gpu_utilization = run.gpu_utilization;
  look.joules_per_step = run.joules_per_step;
  const auto steps = run.report.steps.size();
  const bool ran = run.failure.empty() || (run.failure.starts_with("the program made") && run.heard);
  if (!ran && run.heard)
    return data_error("the program " + run.failure, "it must run by itself before it can be optimized");
  look.run.plan.sync_phases = false;
  if (steps >= 4) {
    look.run.time_of = TimeOf::sample;
    look.window = choose_window(run.report, options, look.run);
    if (run.report.ended == "exit") look.most_steps = static_cast<std::int64_t>(steps) - look.run.plan.warmup_steps;
    return look;
  }
  look.run.time_of = TimeOf::run;
  look.run.plan.window_s = 0;
  look.run.plan.stop = false;
  look.run.plan.warmup_steps = 1'000'000'000;
  if (!run.heard) {
    look.note =
        "no Python process of the program loaded the hook (python -I or -E, a frozen program, or no Python at all): "
        "whole runs are timed, and only your own knobs can be tried";
  } else if (const auto old = too_old(run.report); !old.empty()) {
    look.note = old + ": whole runs are timed, and only your own knobs can be tried";
  } else if (run.report.torch.empty()) {
    look.note = "the program does not import torch: whole runs are timed, and only your own knobs can be tried";
  } else {
    look.note =
        fmt::format("only {} steps were found: whole runs are timed, and only your own knobs can be tried", steps);
  }
  WM_ASSIGN(const auto whole, runs.run({}, look.run));
  if (!whole.failure.empty()) {
    return data_error("the program " + whole.failure, "it must run by itself before it can be optimized");
  }
  return look;
}

Result<Journey> optimize_program(ProgramRuns& runs, const OptimizeOptions& options) {
  return journey_from(runs, options, nullptr);
}

Result<Journey> prove_plan(ProgramRuns& runs, const Settings& plan, const OptimizeOptions& options) {
  return journey_from(runs, options, &plan);
}

}  // namespace warpmark::optimize
