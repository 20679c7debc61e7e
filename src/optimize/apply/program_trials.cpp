#include "optimize/apply/program_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "model/fields/fields.h"
#include "optimize/stages/pair_test.h"
#include "stats/summary.h"
#include "validate/compare/environment_guard.h"

namespace warpmark::optimize {
namespace {

constexpr std::int64_t kFewestPairs = 2;
constexpr double kWindow_s = 2;
constexpr double kCompile_s = 300;         // that compiling may take in the living process
constexpr double kShareOfCompiling = 0.6;  // of the budget left
constexpr double kShareOfDeciding = 0.15;  // of the budget left, for further rounds in the living process
constexpr double kPassesOfCheck = 6;  // of the original: kept, repeated, rounded, with another seed, without dropout

bool compiles(const Settings& settings) { return !value_of(settings, "compile").empty(); }

}  // namespace

/// Two sets of settings in fresh processes, and what is known after each pair.
struct ProgramTrials::Pairs {
  Settings from;
  Variant to;
  bool state_checked = false;
  RunOptions how_from, how_to;
  std::vector<Environment> before, after;
  ProgramRun last;  ///< of `to`
  TrialResult result;
};

ProgramTrials::ProgramTrials(ProgramRuns& runs, TrialOptions options, const ProgramRun& probe, ProgramFacts facts)
    : runs_(runs), options_(std::move(options)), gate_(runs, options_.run, options_.quality), facts_(std::move(facts)) {
  originals_.push_back(probe.report);
}

double ProgramTrials::step_s(const Settings& settings) const {
  const auto name = text_of(settings);
  const auto known = std::ranges::find(step_s_, name, [](const auto& one) { return one.first; });
  return known != step_s_.end() ? known->second : facts_.seconds_per_step;
}

double ProgramTrials::test_s() const { return runs_.run_s() * 2 * static_cast<double>(kFewestPairs); }

/// As long as the user asked for; else two seconds, at least two bursts of the loader's workers and never fewer steps
/// than show that the program steps evenly. What happens between epochs takes longer the first time (its libraries are
/// loaded, files are made): where several epochs fit into the window, the first one is part of the warm-up.
RunOptions ProgramTrials::run_of(const Settings& settings) const {
  RunOptions how = options_.run;
  if (how.time_of == TimeOf::run) return how;
  auto& plan = how.plan;
  const auto workers = loader_workers(facts_, settings);
  const double step = std::max(step_s(settings), 1e-5);
  const double window_s = options_.window_s > 0 ? options_.window_s : kWindow_s;
  const auto epoch = facts_.short_epoch();
  plan.warmup_steps = 3 + std::min<std::int64_t>(workers, 16);
  if (static_cast<double>(epoch) * facts_.seconds_per_step < window_s)
    plan.warmup_steps = std::max(plan.warmup_steps, epoch + 2);
  plan.window_steps = options_.window_steps;
  if (plan.window_steps == 0) {
    plan.window_steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(window_s / step)),
                                                 std::max<std::int64_t>(4, 2 * workers), 100'000);
    plan.window_steps = whole_multiple(plan.window_steps, epoch);
  }
  if (options_.max_steps > 0) {
    plan.warmup_steps = std::clamp<std::int64_t>(options_.max_steps / 4, 1, plan.warmup_steps);
    plan.window_steps = std::clamp<std::int64_t>(options_.max_steps - plan.warmup_steps, 1, plan.window_steps);
  }
  plan.window_s = 0;
  plan.stop = true;
  plan.sync_phases = false;
  return how;
}

Result<std::vector<double>> ProgramTrials::base_times(const ProgramRun& probe) {
  if (options_.run.time_of == TimeOf::run) return std::vector<double>{probe.wall_s};
  if (!runs_.has_lab()) return std::vector<double>{facts_.seconds_per_step};
  const Variant same{{}, Numerics::exact};
  const auto command = blocks_command(facts_, {}, {&same, 1}, {false}, facts_.seconds_per_step, 1, true);
  const double before_s = runs_.elapsed_s();
  WM_ASSIGN(const auto answers, runs_.ask(command, 60 + 10 * expected_s(command, facts_.seconds_per_step)));
  expected_s_ += expected_s(command, facts_.seconds_per_step);
  took_s_ += runs_.elapsed_s() - before_s;
  VariantResult result;
  add_blocks(answers, {&result, 1});
  left_out_.add(time_left_out(answers));
  std::vector<double> times = result.base_s;
  times.insert(times.end(), result.times_s.begin(), result.times_s.end());
  if (times.empty()) times.push_back(facts_.seconds_per_step);
  facts_.seconds_per_step = stats::median(times);
  return times;
}

bool ProgramTrials::is_stopped(WithinResult& result) const {
  result.reason = runs_.why_stopped();
  result.stopped = !result.reason.empty();
  return result.stopped;
}

/// One command of blocks. A variant during which the process ends is out, and the others are asked again.
Status ProgramTrials::ask_blocks(const Settings& from, std::span<const Variant> variants, std::vector<bool>& skip,
                                 WithinResult& result) {
  const double base_s = step_s(from);
  bool from_the_start = false;  // the question was asked again, of a process that has all of its steps left
  while (std::ranges::find(skip, false) != skip.end()) {
    const auto command = blocks_command(facts_, from, variants, skip, base_s, kBlockRounds, blocks_++ % 2 == 0);
    bool any_compiles = compiles(from);
    for (const auto& variant : variants) any_compiles = any_compiles || compiles(variant.settings);
    double deadline_s = 60 + 10 * expected_s(command, base_s);
    if (any_compiles)
      deadline_s = std::min(deadline_s + kCompile_s, std::max(60.0, kShareOfCompiling * runs_.left_s()));
    const auto answers = runs_.ask(command, deadline_s);
    if (!answers.ok()) {
      if (is_stopped(result)) return {};
      return answers.error();
    }
    if (!answers->is_object()) {
      add_blocks(*answers, result.variants);
      if (from.empty()) left_out_.add(time_left_out(*answers));
      bool untimed = false;
      for (std::size_t i = 0; i < skip.size(); ++i) {
        skip[i] = skip[i] || !result.variants[i].failure.empty();
        untimed = untimed || (!skip[i] && result.variants[i].times_s.empty());
      }
      if (!untimed || from_the_start || !program_ended(*answers)) return {};
      from_the_start = true;
      continue;
    }
    const auto variant = answers->value("variant", std::int64_t{-1}) - 1;
    const auto failure = answers->value("failure", std::string("the program ended"));
    for (std::size_t i = 0; i < skip.size(); ++i) {
      const bool culprit = variant < 0 || static_cast<std::size_t>(variant) == i;
      if (!culprit || skip[i]) continue;
      skip[i] = true;
      result.variants[i].failure = failure;
    }
  }
  return {};
}

Status ProgramTrials::ask_check(std::span<const Variant> variants, std::vector<bool>& skip, WithinResult& result) {
  std::vector<Variant> asked;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (skip[i] || variants[i].numerics.only_exact()) continue;
    asked.push_back(variants[i]);
    index.push_back(i);
  }
  if (asked.empty()) return {};
  const auto answers = runs_.ask(check_command(asked), 120 + 100 * facts_.seconds_per_step + kCompile_s);
  if (!answers.ok()) {
    if (is_stopped(result)) return {};
    return answers.error();
  }
  if (answers->is_object()) return {};  // the check ended the process: fresh runs compare losses
  for (const auto& answer : *answers)
    result.draws = result.draws || (answer.is_object() && answer.value("draws", false));
  for (auto& variant : asked) {  // a compiler draws random numbers in an order of its own
    if (result.draws && compiles(variant.settings)) variant.numerics.add(Numerics::random_streams);
  }
  std::vector<VariantResult> checked(asked.size());
  add_checks(*answers, asked, checked);
  for (std::size_t k = 0; k < index.size(); ++k) {
    auto& known = result.variants[index[k]];
    known.answers = checked[k].answers;
    known.answers_same = checked[k].answers_same;
    if (known.failure.empty()) known.failure = checked[k].failure;
  }
  return {};
}

double ProgramTrials::within_s(const Settings& from, std::span<const Variant> variants) const {
  if (!runs_.has_lab() || !options_.in_process) return 0;
  return steps_s(from, variants) * (expected_s_ > 0 ? std::max(1.0, took_s_ / expected_s_) : 1);
}

double ProgramTrials::steps_s(const Settings& from, std::span<const Variant> variants) const {
  const double base_s = step_s(from);
  const auto command =
      blocks_command(facts_, from, variants, std::vector<bool>(variants.size(), false), base_s, kBlockRounds, true);
  return expected_s(command, base_s) + (kPassesOfCheck + 2 * static_cast<double>(variants.size())) * base_s;
}

Result<WithinResult> ProgramTrials::within(const Settings& from, std::span<const Variant> variants, bool decide) {
  WithinResult result;
  result.variants.resize(variants.size());
  if (!runs_.has_lab() || !options_.in_process) {
    result.why_not = "settings are tested in fresh processes: the program makes too few steps, or --separate was given";
    return result;
  }
  if (is_stopped(result)) return result;
  const double before_s = runs_.elapsed_s(), by_steps_s = steps_s(from, variants);
  std::vector<bool> skip(variants.size(), false);
  double until_s = 0;
  for (std::int64_t rounds = 0; rounds < kMostBlockRounds; rounds += kBlockRounds) {
    WM_TRY(ask_blocks(from, variants, skip, result));
    if (result.stopped) return result;
    bool open = false;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      auto& one = result.variants[i];
      if (one.times_s.empty()) continue;
      const auto judged = judge_pairs(one.base_s, one.times_s, options_.effect, kBlockAlpha, kBlockPrior);
      one.gain = judged.speedup;
      if (rounds == 0 && !one.times_s.empty()) {
        std::erase_if(step_s_, [&](const auto& known) { return known.first == text_of(variants[i].settings); });
        step_s_.emplace_back(text_of(variants[i].settings), stats::median(one.times_s));
      }
      open = open || (!skip[i] && needs_blocks(judged, decide));
    }
    if (rounds == 0) {
      WM_TRY(ask_check(variants, skip, result));
      until_s = runs_.elapsed_s() + kShareOfDeciding * runs_.left_s();  // what was compiled is paid for
    }
    if (result.stopped) return result;
    if (!open || runs_.elapsed_s() > until_s) break;
  }
  result.cost_s = runs_.elapsed_s() - before_s;
  expected_s_ += by_steps_s;
  took_s_ += result.cost_s;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (compiles(variants[i].settings)) took_s_ -= result.variants[i].warm_s;
  }
  return result;
}

Result<std::optional<StepRecording>> ProgramTrials::record_steps(const Settings& settings, std::int64_t steps,
                                                                 bool stacks) {
  Json knobs = Json::object();
  for (const auto& setting : settings) knobs[setting.knob] = setting.value;
  const Json command{{"do", "record"}, {"steps", steps}, {"stacks", stacks}, {"knobs", std::move(knobs)}};
  const auto answer = runs_.ask(command, 120 + 100 * facts_.seconds_per_step);
  if (!answer.ok() && runs_.why_stopped().empty()) return answer.error();
  if (!answer.ok() || !answer->is_object() || !answer->contains("analysis")) return std::optional<StepRecording>{};
  WM_ASSIGN(auto recording, read(kStepRecording, (*answer)["analysis"]));
  return std::optional(std::move(recording));
}

Result<Recorded> ProgramTrials::record(const Settings& settings) {
  Recorded recorded;
  if (!runs_.has_lab() || !facts_.on_gpu()) return recorded;
  constexpr std::int64_t kSteps = 8, kLocatedSteps = 3;
  WM_ASSIGN(auto seen, record_steps(settings, kSteps, false));
  if (!seen) return recorded;
  for (const auto& setting : settings) {
    if (auto text = kernels_seen(setting, seen->kernels)) recorded.kernels.emplace_back(setting.knob, std::move(*text));
  }
  seen->bound_to(step_s(settings));
  if (settings.empty()) {
    WM_ASSIGN(const auto located, record_steps(settings, kLocatedSteps, true));
    if (located) seen->take_places(*located);
    findings_ = seen->findings;
    if (seen->gpu_work) recorded_step_s_ = seen->seconds_per_step;
  }
  recorded.text = seen->text();
  recorded.analyzed = seen->gpu_work;
  recorded.found = std::move(seen->found);
  return recorded;
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
  result.answers_known = judged->outcome != AccuracyOutcome::inconclusive;
  result.answers = {.kind = "evaluation", .difference = 0, .allowed = 0, .text = judged->text};
  return result;
}

void ProgramTrials::judge(const ProgramRun& run, const Variant& to, bool state_checked, TrialResult& result) const {
  result.memory_bytes = run.memory_bytes;
  result.gpu_utilization = run.gpu_utilization;
  result.joules_per_step = run.joules_per_step;
  result.facts = facts_of(run.report, run.gpu_utilization);
  if (options_.run.time_of == TimeOf::run) {
    result.answers = {.kind = "none", .text = "only the time of the run is known"};
    return;
  }
  const auto verdict = judge_answers(originals_, run.report, to.numerics,
                                     {.margin = options_.loss_margin, .state_checked = state_checked});
  result.answers = verdict.check;
  result.answers_same = verdict.same;
}

Result<ProgramRun> ProgramTrials::run_original(const Settings& from, const RunOptions& how) {
  WM_ASSIGN(auto run, runs_.run(from, how));
  if (!run.failure.empty()) {
    WM_ASSIGN(run, runs_.run(from, how));
  }
  if (!run.failure.empty()) return data_error("the program without the setting fails now: " + run.failure);
  if (from.empty() && run.report.window) {
    constexpr std::size_t kMost = 4;  // repeated runs show what the program differs by
    originals_.insert(originals_.begin(), run.report);
    if (originals_.size() > kMost) originals_.pop_back();
  }
  return run;
}

/// With the settings first, then without, and the other way round in the next pair: a drift of the machine cancels, and
/// settings that fail cost one run.
Status ProgramTrials::run_pair(Pairs& pairs, std::int64_t round) {
  auto& result = pairs.result;
  for (const bool with : {round % 2 == 0, round % 2 != 0}) {
    if (with) {
      WM_ASSIGN(pairs.last, runs_.run(pairs.to.settings, pairs.how_to));
      result.failure = pairs.last.failure;
      result.out_of_memory = pairs.last.out_of_memory;
      if (!result.failure.empty()) return {};
      judge(pairs.last, pairs.to, pairs.state_checked, result);
      if (!result.answers_same) return {};
      result.times_to_s.push_back(pairs.last.time_s);
      pairs.after.push_back(pairs.last.run.environment);
    } else {
      WM_ASSIGN(const auto run, run_original(pairs.from, pairs.how_from));
      result.times_from_s.push_back(run.time_s);
      pairs.before.push_back(run.run.environment);
    }
  }
  return {};
}

Result<TrialResult> ProgramTrials::compare(const Settings& from, const Variant& to, bool state_checked, bool decide) {
  Pairs pairs{
      .from = from, .to = to, .state_checked = state_checked, .how_from = run_of(from), .how_to = run_of(to.settings)};
  auto& result = pairs.result;
  result.reason = runs_.why_stopped();
  result.stopped = !result.reason.empty();
  if (result.stopped) return result;
  const double before_s = runs_.spent_s();
  const auto before_runs = runs_.count();
  std::vector<std::pair<Settings, RunOptions>> expected;
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    expected.emplace_back(round % 2 == 0 ? to.settings : from, round % 2 == 0 ? pairs.how_to : pairs.how_from);
    expected.emplace_back(round % 2 == 0 ? from : to.settings, round % 2 == 0 ? pairs.how_from : pairs.how_to);
  }
  runs_.expect(std::move(expected));
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    if (round >= kFewestPairs && !runs_.affords(2)) {
      result.reason = "the budget ends: " + result.reason;
      break;
    }
    const auto ran = run_pair(pairs, round);
    if (!ran.ok()) {
      runs_.expect({});
      result.reason = runs_.why_stopped();
      if (result.reason.empty()) return ran.error();
      result.stopped = true;
      return result;
    }
    if (!result.failure.empty() || !result.answers_same) break;
    const auto judged = judge_pairs(result.times_from_s, result.times_to_s, options_.effect, options_.alpha, kRunPrior);
    result.verdict = judged.verdict;
    result.speedup = judged.speedup;
    result.times_as_long = 1 / judged.speedup.ratio;
    result.reason = fmt::format("{:.3g}x [{:.3g}, {:.3g}] after {} pairs", judged.speedup.ratio, judged.speedup.low,
                                judged.speedup.high, result.times_to_s.size());
    if (judged.verdict != Verdict::inconclusive) break;
    result.futile = judged.futile && (!decide || round + 1 >= kPairsUntilFutile);
    if (result.futile) break;
  }
  runs_.expect({});
  result.runs = runs_.count() - before_runs;
  result.cost_s = runs_.spent_s() - before_s;
  const auto disturbances = validate::compare_environments(pairs.before, pairs.after);
  if (!disturbances.empty() && result.failure.empty() && result.answers_same) {
    result.verdict = Verdict::unreliable;
    result.reason = disturbances.front().cause;
  }
  return result;
}

}  // namespace warpmark::optimize
