#include "optimize/history_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optimize/stages/search_state.h"
#include "stats/summary.h"
#include "validate/judge/verdict.h"

namespace warpmark::optimize {
namespace {

struct Gain {
  std::optional<SpeedUp> speedup;
  TrialOutcome outcome = TrialOutcome::undecided;
  std::string reason;
};

/// How much faster `after` is. Without an interval nothing is decided.
Gain gain_of(const MeasuredCommit& before, const MeasuredCommit& after, const HistoryOptions& options) {
  const validate::VerdictOptions how{
      .effect = options.effect, .alpha = options.alpha, .paired = false, .sequential = false};
  const auto effect = validate::effect_of(before.seconds, after.seconds, how);
  Gain gain;
  if (!effect.undefined.empty() || !effect.interval || !effect.p) {
    gain.reason = effect.undefined.empty() ? "one value each: measure more rounds or sessions" : effect.undefined;
    return gain;
  }
  gain.speedup = SpeedUp{std::exp(-effect.log_ratio), std::exp(-effect.interval->high), std::exp(-effect.interval->low),
                         1 - options.alpha};
  switch (validate::verdict_of(effect, *effect.p, Better::lower, how)) {
    case Verdict::better: gain.outcome = TrialOutcome::kept; break;
    case Verdict::worse: gain.outcome = TrialOutcome::slower; break;
    case Verdict::same:
      gain.outcome = TrialOutcome::no_gain;
      gain.reason = "no difference that matters";
      break;
    default: gain.reason = "the sessions do not show";
  }
  return gain;
}

OptimizationState state_of(const MeasuredCommit& commit) {
  std::vector<double> logs;
  for (const double value : commit.seconds) logs.push_back(std::log(value));
  return {.seconds_per_step = stats::geometric_mean(commit.seconds).value_or(0),
          .spread = logs.size() < 2 ? 0 : std::sqrt(stats::moments_of(logs).variance()),
          .memory_bytes = commit.memory_bytes};
}

OptimizationStep step_of(const MeasuredCommit& first, const MeasuredCommit& before, const MeasuredCommit& commit,
                         const HistoryOptions& options) {
  auto gain = gain_of(before, commit, options);
  OptimizationStep step{.knob = commit.sha.substr(0, 12),
                        .value = "",
                        .title = commit.subject,
                        .numerics = name_of(Numerics::semantic),  // a commit may change anything
                        .outcome = gain.outcome,
                        .reason = std::move(gain.reason)};
  step.measured = gain.speedup;
  step.cumulative = gain_of(first, commit, options).speedup;
  step.memory_bytes = commit.memory_bytes;
  if (before.memory_bytes && commit.memory_bytes) step.memory_saved_bytes = *before.memory_bytes - *commit.memory_bytes;
  step.times_before_s = before.seconds;
  step.times_with_s = commit.seconds;
  return step;
}

std::string verdict_of(const Optimization& optimization, const Gain& whole) {
  const auto& last = optimization.steps.back().knob;
  if (!whole.speedup) return "undecided: " + whole.reason;
  const auto text = interval_text(*whole.speedup);
  if (whole.outcome == TrialOutcome::kept) return fmt::format("{} faster at {}", text, last);
  return fmt::format("no proven speedup at {}: {}", last, text);
}

}  // namespace

Result<Optimization> optimization_of(std::span<const MeasuredCommit> commits, const HistoryOptions& options) {
  if (commits.size() < 2) {
    return usage_error(fmt::format("{} of the commits is measured; a speedup needs two", commits.size()),
                       "measure each commit: git checkout COMMIT && warpmark run --project warpmark.yaml");
  }
  Optimization optimization{.unit = options.unit, .baseline = state_of(commits.front())};
  for (std::size_t i = 1; i < commits.size(); ++i) {
    optimization.steps.push_back(step_of(commits.front(), commits[i - 1], commits[i], options));
    const auto& step = optimization.steps.back();
    if (step.outcome == TrialOutcome::kept) optimization.plan.emplace_back(step.knob, step.value);
  }
  const auto whole = gain_of(commits.front(), commits.back(), options);
  optimization.optimized = state_of(commits.back());
  if (whole.outcome == TrialOutcome::kept) optimization.measured_speedup = whole.speedup;
  optimization.times_original_s = commits.front().seconds;
  optimization.times_optimized_s = commits.back().seconds;
  optimization.complete = true;
  optimization.stopped_because = "done";
  optimization.verdict = verdict_of(optimization, whole);
  return optimization;
}

}  // namespace warpmark::optimize
