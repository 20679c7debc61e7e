#include "optimize/apply/program_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "measure/experiment.h"
#include "optimize/apply/kernels_seen.h"
#include "optimize/apply/recorded_run.h"
#include "optimize/screening.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "validate/compare/compare_run.h"

namespace warpmark::optimize {
namespace {

constexpr std::int64_t kRoundsBeforeGivingUp = 3;
constexpr double kScreenNoise = 3;     // standard deviations by which one run may be off
constexpr std::size_t kMany = 6;       // runs whose spread is believed; of three it is often far too small, so it ...
constexpr double kOfFew = 1.5;         // ... counts as so many times as much
constexpr double kScreenFloor = 0.03;  // and at least so much: one run tells no less
constexpr int kMostScreenings = 3;     // of the same best: each after the first leaves out a knob that failed
constexpr const char* kGivenUp = "no gain in sight";

/// Logarithms of B / A, round by round.
std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) logs.push_back(std::log(b[i] / a[i]));
  return logs;
}

/// Whether even two standard errors in its favour leave less than half of the smallest effect.
bool hopeless(const std::vector<double>& logs, double effect) {
  const auto n = static_cast<double>(logs.size());
  double mean = 0, squares = 0;
  for (const double value : logs) mean += value / n;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  return mean - 2 * error > -std::log1p(effect) / 2;
}

std::optional<SpeedUp> speedup_of(const MetricVerdict& metric) {
  if (!metric.ratio || !(*metric.ratio > 0)) return std::nullopt;
  SpeedUp speedup{.ratio = 1 / *metric.ratio, .low = 1 / *metric.ratio, .high = 1 / *metric.ratio};
  if (metric.interval && metric.interval->low > 0) {
    speedup.low = 1 / metric.interval->high;
    speedup.high = 1 / metric.interval->low;
    speedup.confidence = metric.interval->confidence;
  }
  return speedup;
}

}  // namespace

int most_together(const ProgramRun& baseline, int wanted, double available_bytes, int cpus) {
  constexpr double kPart = 0.8;
  constexpr double kContext = 1 << 30;  // that a process takes of a GPU beside PyTorch's own pool: 0.5 to 0.8 GB seen
  if (baseline.report.world > 1 || !baseline.report.window) return 1;
  double most = std::min<double>(wanted, cpus);
  if (baseline.host_bytes > 0) most = std::min(most, kPart * available_bytes / baseline.host_bytes);
  if (baseline.report.total_bytes > 0) {
    most = std::min(most, kPart * static_cast<double>(baseline.report.total_bytes) /
                              (static_cast<double>(baseline.report.reserved_bytes) + kContext));
  }
  return std::max(1, static_cast<int>(most) / 2 * 2);
}

bool may_gain(double times_as_long, double spread, double effect) {
  return std::log(times_as_long) <= std::max(kScreenNoise * spread, kScreenFloor) - std::log1p(effect);
}

std::int64_t fewest_rounds(double alpha) { return static_cast<std::int64_t>(std::ceil(2 - std::log2(alpha))); }

RunOptions screening_run(RunOptions run, workers::ScreeningPlan plan, double step_s) {
  run.deadline_s += 2 * planned_s(plan, step_s);
  run.plan.screening = std::move(plan);
  run.plan.warmup_steps = std::max<std::int64_t>(run.plan.warmup_steps, 3);
  run.plan.window_steps = 0;
  run.plan.window_s = 0;
  run.plan.stop = true;
  return run;
}

double log_spread(std::span<const double> times) {
  if (times.size() < 2) return 0;
  std::vector<double> logs;
  double mean = 0;
  for (const double time : times) {
    logs.push_back(std::log(time));
    mean += logs.back() / static_cast<double>(times.size());
  }
  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(times.size() - 1));
}

/// One arm as an Experiment: a fresh process for each run. A program that fails is an error, which ends the test.
class ProgramTrials::Arm final : public measure::Experiment {
 public:
  /// `known_sound`: it ran to its end before, so that one failure is the machine's, and it is run once more.
  Arm(ProgramRuns& runs, Settings settings, const RunOptions& options, bool known_sound)
      : runs_(runs), settings_(std::move(settings)), options_(options), runs_again_(known_sound) {}

  Result<Run> run(const measure::Config& /*config*/) override {
    WM_ASSIGN(last, runs_.run(settings_, options_));
    if (!last.failure.empty() && runs_again_) {
      runs_again_ = false;
      WM_ASSIGN(last, runs_.run(settings_, options_));
    }
    if (!last.failure.empty()) {
      failure = last.failure;
      return data_error(last.failure);
    }
    times.push_back(last.time_s);
    return last.run;
  }

  ProgramRun last;
  std::string failure;
  std::vector<double> times;

 private:
  ProgramRuns& runs_;
  Settings settings_;
  const RunOptions& options_;
  bool runs_again_;
};

ProgramTrials::ProgramTrials(ProgramRuns& runs, TrialOptions options, std::vector<ProgramRun> baselines)
    : runs_(runs), options_(std::move(options)), gate_(runs, options_.run, options_.quality) {
  std::vector<double> times;
  for (auto& baseline : baselines) {
    times.push_back(baseline.time_s);
    remember({}, baseline.time_s);
    baselines_.push_back(std::move(baseline.report));
  }
  spread_ = log_spread(times);
  if (!baselines_.empty() && baselines_.front().window) {
    const auto& window = *baselines_.front().window;
    step_s_ = window.seconds / static_cast<double>(window.steps);
  }
}

std::span<const double> ProgramTrials::known_times(const Settings& settings) const {
  const auto known = std::ranges::find(times_, text_of(settings), [](const auto& one) { return one.first; });
  return known == times_.end() ? std::span<const double>{} : known->second;
}

double ProgramTrials::spread_among(std::span<const double> times) const {
  return std::max(spread_, log_spread(times)) * (times.size() < kMany ? kOfFew : 1);
}

void ProgramTrials::remember(const Settings& settings, double time_s) {
  const auto name = text_of(settings);
  for (auto& [known, times] : times_) {
    if (known == name) return times.push_back(time_s);
  }
  times_.emplace_back(name, std::vector<double>{time_s});
}

Result<TrialResult> ProgramTrials::look(const Settings& settings, const ProgramFacts& seen) {
  TrialResult result;
  result.facts = seen;
  if (!options_.recording_tells) return result;
  constexpr std::int64_t kShort = 20;
  const double before_s = runs_.spent_s();
  auto phases = options_.run;
  phases.plan.sync_phases = true;
  phases.plan.window_steps = std::min(phases.plan.window_steps, kShort);
  const auto recorded = recorded_run(options_.run, false);
  runs_.expect({{settings, phases}, {settings, recorded}});
  for (const bool recording : {false, true}) {
    const auto run = runs_.run(settings, recording ? recorded : phases);
    ++result.runs;
    if (!run.ok()) {
      result.reason = runs_.why_stopped();
      if (result.reason.empty()) return run.error();
      result.stopped = true;
      return result;
    }
    if (!recording && run->failure.empty()) result.facts = facts_of(run->report);
    if (!recording) continue;
    result.reason = add_found(*run, result.facts);
    for (const auto& setting : settings) {
      if (auto text = kernels_seen(setting, run->kernels)) result.kernels.emplace_back(setting.knob, std::move(*text));
    }
  }
  result.cost_s = runs_.spent_s() - before_s;
  return result;
}

Result<ScreeningResult> ProgramTrials::screen_within(const Settings& from, const std::vector<Setting>& settings) {
  ScreeningResult result;
  if (!options_.screens_within || options_.run.time_of == TimeOf::run) return result;
  auto left = settings;
  const double before_s = runs_.spent_s();
  // A knob on which the program fails is for a process of its own; the others are screened without it.
  for (int starts = 0; starts < kMostScreenings && !left.empty(); ++starts) {
    const double test_s = runs_.longest_s() * static_cast<double>(2 * fewest_rounds(options_.alpha));
    const auto plan = plan_screening(left,
                                     {.step_s = step_s_,
                                      .most_s = test_s,
                                      .left_s = runs_.left_s() - runs_.longest_s(),
                                      .wanted_s = runs_.left_s() / 4,
                                      .most_steps = options_.most_steps,
                                      .several_ranks = !baselines_.empty() && baselines_.front().world > 1},
                                     options_.seed + tests_ + 1);
    if (!plan) {
      result.note = fmt::format("the budget or the steps of a run are too few to screen {} knob{} within one process",
                                left.size(), left.size() == 1 ? "" : "s");
      return result;
    }
    const auto run = runs_.run(from, screening_run(options_.run, *plan, step_s_));
    if (!run.ok()) {
      result.reason = runs_.why_stopped();
      if (result.reason.empty()) return run.error();
      result.stopped = true;
      return result;
    }
    result.settings = judge_screening(*plan, run->report, options_.effect, !run->failure.empty());
    result.note = fmt::format("{} knob{} switched in turns within one process: {} rounds of blocks of {} steps in {}",
                              left.size(), left.size() == 1 ? "" : "s", plan->rounds, plan->block_steps,
                              format_seconds(runs_.spent_s() - before_s));
    const auto culprit = run->report.switched_last - 2;
    if (run->failure.empty() || culprit < 0 || culprit >= static_cast<std::int64_t>(left.size())) break;
    result.note = fmt::format("within one process the program {} while {} was on", run->failure,
                              text_of({left[static_cast<std::size_t>(culprit)]}));
    left.erase(left.begin() + culprit);
  }
  return result;
}

Result<TrialResult> ProgramTrials::evaluate(const Settings& settings) {
  TrialResult result;
  if (!gate_.asked()) return result;
  const double before_s = runs_.spent_s();
  const auto before_runs = runs_.count();
  const auto judged = gate_.judge(settings);
  result.runs = runs_.count() - before_runs;
  result.cost_s = runs_.spent_s() - before_s;
  if (!judged.ok()) {
    result.reason = runs_.why_stopped();
    if (result.reason.empty()) return judged.error();
    result.stopped = true;
    return result;
  }
  result.answers_same = judged->outcome != AccuracyOutcome::rejected;
  result.promising = judged->outcome != AccuracyOutcome::inconclusive;
  result.answers = {.kind = "evaluation", .difference = 0, .allowed = 0, .text = judged->text};
  return result;
}

bool ProgramTrials::affords(std::size_t tests) const {
  return runs_.affords(static_cast<std::int64_t>(tests) * 2 * fewest_rounds(options_.alpha));
}

void ProgramTrials::judge(const ProgramRun& run, const NumericsSet& numerics, TrialResult& result) const {
  result.memory_bytes = run.memory_bytes;
  result.gpu_utilization = run.gpu_utilization;
  result.joules_per_step = run.joules_per_step;
  result.facts = facts_of(run.report);
  if (options_.run.time_of == TimeOf::run) {
    result.answers = {.kind = "none", .text = "nothing but the time of the run is known"};
    return;
  }
  const auto verdict = judge_answers(baselines_, run.report, numerics, options_.answers);
  result.answers = verdict.check;
  result.answers_same = verdict.same;
}

Result<TrialResult> ProgramTrials::screen(const Settings& from, const Settings& to, const NumericsSet& numerics) {
  TrialResult result;
  result.reason = runs_.why_stopped();
  result.stopped = !result.reason.empty();
  if (result.stopped) return result;
  const double before_s = runs_.spent_s();
  // What compiles for minutes, and chooses by time, is looked at alone before others are started for its test.
  if (value_of(to, "compile").empty()) expect_rounds(from, to, options_.run, true);
  auto run = runs_.run(to, options_.run);
  result.runs = 1;
  if (!run.ok()) {
    result.reason = runs_.why_stopped();
    if (result.reason.empty()) return run.error();
    result.stopped = true;
    return result;
  }
  result.failure = run->failure;
  if (!result.failure.empty()) {
    runs_.expect({});
    result.cost_s = runs_.spent_s() - before_s;
    return result;
  }
  judge(*run, numerics, result);
  remember(to, run->time_s);
  if (const auto known = known_times(from); !known.empty()) {
    const double slower = run->time_s / stats::median(known);
    result.promising = may_gain(slower, spread_among(known), options_.effect);
    result.times_as_long = slower;
    result.reason = fmt::format("one run took {:.3g} times as long", slower);
    if (!result.promising && slower <= std::exp(kScreenFloor)) {
      result.reason += fmt::format(": no gain of {:.3g} % in sight", options_.effect * 100);
    }
    result.times_to_s = {run->time_s};
  }
  if (!result.promising || !result.answers_same) runs_.expect({});
  result.cost_s = runs_.spent_s() - before_s;
  return result;
}

void ProgramTrials::expect_rounds(const Settings& from, const Settings& to, const RunOptions& how, bool first_alone) {
  stats::Random random(options_.seed + 104729 * tests_);
  std::vector<std::pair<Settings, RunOptions>> runs;
  if (first_alone) runs.emplace_back(to, how);
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    const bool first = random() % 2 == 0;
    runs.emplace_back(first ? from : to, how);
    runs.emplace_back(first ? to : from, how);
  }
  runs_.expect(std::move(runs));
  expected_ = first_alone ? std::optional(std::pair(from, to)) : std::nullopt;
}

Result<TrialResult> ProgramTrials::compare(const Settings& from, const Settings& to, const NumericsSet& numerics,
                                           bool decide) {
  TrialResult result;
  result.reason = runs_.why_stopped();
  result.stopped = !result.reason.empty();
  if (result.stopped) return result;
  const double before_s = runs_.spent_s();
  const auto before_runs = runs_.count();
  const bool last = decide && from.empty();
  const RunOptions& how = last ? options_.last_run : options_.run;
  Arm a(runs_, from, how, true), b(runs_, to, how, false);
  validate::AbOptions test{.effect = options_.effect, .alpha = options_.alpha, .warmup_runs = 0};
  test.schedule.rounds = options_.rounds;
  test.schedule.seed = options_.seed + 7919 * ++tests_;
  test.further_tests = false;
  test.interrupted = nullptr;  // a run that was interrupted is an error of the experiment, which ends the test
  bool given_up = false;
  validate::AbEvents events;
  events.sample_done = [&](const validate::AbSample& sample) -> Status {
    if (!runs_.why_stopped().empty()) return environment_error(runs_.why_stopped());
    if (decide || !sample.slot.ends_round || sample.slot.round + 1 < kRoundsBeforeGivingUp) return {};
    given_up = hopeless(log_ratios(a.times, b.times), options_.effect);
    return given_up ? Status(data_error(kGivenUp)) : Status();
  };
  // What a look at it alone started goes on.
  if (decide || expected_ != std::pair(from, to)) expect_rounds(from, to, how, false);
  expected_.reset();
  auto outcome = validate::run_ab({&a, {}, "without"}, {&b, {}, "with"}, test, {}, events);
  runs_.expect({});
  result.runs = runs_.count() - before_runs;
  result.cost_s = runs_.spent_s() - before_s;
  result.times_from_s = a.times;
  result.times_to_s = b.times;
  for (const double time : a.times) remember(from, time);
  for (const double time : b.times) remember(to, time);
  result.failure = b.failure;
  if (!result.failure.empty()) return result;
  if (!a.failure.empty()) return data_error("the program without the knob fails now: " + a.failure);
  if (!outcome.ok() && !given_up) {
    result.reason = runs_.why_stopped();
    if (result.reason.empty()) return outcome.error();
    result.stopped = true;
    return result;
  }
  judge(b.last, numerics, result);
  if (given_up) {
    result.promising = false;
    double mean = 0;
    const auto logs = log_ratios(a.times, b.times);
    for (const double value : logs) mean += value / static_cast<double>(logs.size());
    result.reason = fmt::format("no gain in sight after {} rounds: {:.3g}x", logs.size(), std::exp(-mean));
    return result;
  }
  const auto& metric = outcome->comparison.metrics.front();
  result.verdict = metric.verdict;
  result.speedup = speedup_of(metric);
  result.reason = metric.reason.empty() ? outcome->comparison.stopped_because : metric.reason;
  return result;
}

}  // namespace warpmark::optimize
