#include "validate/guard/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/result.h"
#include "base/text.h"
#include "stats/distributions.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"

namespace warpmark::validate {
namespace {

constexpr std::int64_t kLevelSessions = 5;  // more would follow a drift too slowly, fewer be too noisy
constexpr std::int64_t kStepsNeeded = 6;    // that do not overlap: a spread of fewer is a guess
constexpr double kDetectingPower = 0.9;
constexpr double kPlannedPower = 0.95;  // for 90 % in fact: a history's spread is often somewhat too small
constexpr double kRounding = 1e-12;     // of logarithms: differences below are arithmetic, not measurements
constexpr std::int64_t kMostSessions = 100;

/// Mean of `fresh` values from `at` on less the mean of the `level` values before.
double step_at(std::span<const double> values, std::size_t at, std::size_t level, std::size_t fresh) {
  return stats::mean_of(values.subspan(at, fresh)) - stats::mean_of(values.subspan(at - level, level));
}

/// The history's own steps; none of them crosses a break.
std::vector<double> own_steps(std::span<const double> history, std::span<const std::int64_t> breaks, std::size_t level,
                              std::size_t fresh) {
  std::vector<double> steps;
  for (std::size_t at = level; at + fresh <= history.size(); ++at) {
    const bool crosses = std::any_of(breaks.begin(), breaks.end(), [&](std::int64_t point) {
      const auto place = static_cast<std::size_t>(point);
      return place > at - level && place < at + fresh;
    });
    if (!crosses) steps.push_back(step_at(history, at, level, fresh));
  }
  return steps;
}

/// p of the order alone, for a history that never varied: all places of the new sessions among all are alike.
double order_p(std::int64_t history, std::int64_t fresh) {
  double ways = 1;
  for (std::int64_t i = 1; i <= fresh; ++i) ways *= static_cast<double>(history + i) / static_cast<double>(i);
  return 1 / ways;
}

/// What the history's own steps allow for p, whatever their distribution: not below their share that is as large.
/// Beyond the largest, the share of a tail that falls with the fourth power, as heavy as noise of machines is found to
/// be.
double empirical_p(double largest, double step, std::int64_t as_large, double count) {
  constexpr double kTailPower = 2;
  if (as_large > 0) return (1 + static_cast<double>(as_large)) / (count + 1);
  return std::pow(largest / step, kTailPower) / (count + 1);
}

HistoryStep undefined(std::string why, bool too_short = false) {
  HistoryStep step;
  step.undefined = std::move(why);
  step.too_short = too_short;
  return step;
}

std::vector<std::int64_t> places_of(const std::vector<stats::ChangePoint>& changes) {
  std::vector<std::int64_t> places;
  for (const auto& change : changes) places.push_back(change.index);
  return places;
}

std::optional<std::vector<double>> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
    logs.push_back(std::log(value));
  }
  return logs;
}

void against_steps(HistoryStep& step, std::span<const double> steps, double fresh_step, std::int64_t fresh) {
  const auto count = static_cast<double>(steps.size());
  const double mean = stats::mean_of(steps);
  double squares = 0, largest = 0;
  std::int64_t as_large = 0;
  step.step = fresh_step - mean;
  for (const double own : steps) {
    squares += (own - mean) * (own - mean);
    largest = std::max(largest, std::fabs(own - mean));
    as_large += std::fabs(own - mean) >= std::fabs(step.step) ? 1 : 0;
  }
  step.largest = largest;
  step.spread = std::sqrt(squares / (count - 1));
  step.error = step.spread * std::sqrt(1 + 1 / count);
  step.degrees = std::max(1.0, (count - 1) / static_cast<double>(fresh));
  if (step.spread <= kRounding) return;
  step.p = std::min(1.0, 2 * stats::t_tail(std::fabs(step.step) / step.error, step.degrees));
  step.p = std::max(step.p, empirical_p(largest, std::fabs(step.step), as_large, count));
}

/// +1 where larger is worse.
double sign_of(Better better) { return better == Better::higher ? -1 : 1; }

std::string rounded_percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::vector<double> levels_of(const std::vector<HistoryPoint>& points) {
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point.value);
  return values;
}

/// A session of few samples is noisier than those of the history, which its noise is taken from.
std::string too_few_samples(const MetricCheck& metric) {
  std::vector<double> counts;
  for (const auto& point : metric.baseline) counts.push_back(static_cast<double>(point.n));
  if (counts.empty()) return {};
  const double usual = stats::median(counts);
  for (const auto& point : metric.current) {
    if (2 * static_cast<double>(point.n) >= usual) continue;
    return fmt::format("{} sample{} where sessions of the history have {:.0f}", point.n, point.n == 1 ? "" : "s",
                       usual);
  }
  return {};
}

struct Judged {
  HistoryStep step;
  std::vector<double> history;
  std::vector<std::int64_t> breaks;
};

/// Everything of a metric but the verdict.
Judged measure(MetricCheck& metric, const RegressionOptions& options) {
  const auto surplus = static_cast<std::int64_t>(metric.baseline.size()) - options.most_history;
  if (surplus > 0) metric.baseline.erase(metric.baseline.begin(), metric.baseline.begin() + surplus);
  const auto history = levels_of(metric.baseline), fresh = levels_of(metric.current);
  const auto changes = level_changes(history);
  const auto breaks = places_of(changes);
  Judged judged{step_from(history, breaks, fresh), history, breaks};
  if (!changes.empty()) {
    const auto& last = changes.back();
    const double change = last.mean_before != 0 ? last.mean_after / last.mean_before - 1 : 0;
    metric.restart = Restart{.at = metric.baseline[static_cast<std::size_t>(last.index)],
                             .change = change,
                             .worse = metric.better != Better::neither && change * sign_of(metric.better) > 0,
                             .ago = static_cast<std::int64_t>(history.size()) - last.index};
  }
  metric.value = stats::geometric_mean(fresh).value_or(stats::mean_of(fresh));
  if (const auto few = too_few_samples(metric); !few.empty()) judged.step = undefined(few);
  if (!judged.step.undefined.empty()) return judged;
  const HistoryStep& step = judged.step;
  metric.level_sessions = step.level_sessions;
  metric.level = std::exp(step.level);
  metric.ratio = stats::ratio_of_log(step.step);
  metric.p = step.p;
  metric.noise = stats::change_of_log(step.spread);
  const double t = stats::t_quantile_of_tail(options.alpha / 2, step.degrees),
               power = stats::normal_quantile(kDetectingPower);
  metric.interval = Interval{stats::ratio_of_log(step.step - t * step.error),
                             stats::ratio_of_log(step.step + t * step.error), 1 - options.alpha};
  const double limit = std::log1p(options.threshold);
  metric.detectable = stats::change_of_log(std::max(limit + power * step.error, (t + power) * step.error));
  return judged;
}

std::string why_undecided(const MetricCheck& metric, const HistoryStep& step, bool significant, double worse) {
  if (step.spread == 0) {
    return fmt::format("{} sessions never varied, so only the order counts (p {:.3g}); one more session would decide",
                       metric.baseline.size(), metric.adjusted_p.value_or(step.p));
  }
  const std::string noise = fmt::format("sessions differ by {} without a change", rounded_percent(*metric.noise));
  const std::string found = fmt::format("a regression below {} can be missed", rounded_percent(*metric.detectable));
  if (worse > 0 && !significant) {
    return fmt::format("{} worse, but {}", rounded_percent(stats::change_of_log(worse)), noise);
  }
  return noise + ": " + found;
}

void decide(MetricCheck& metric, const Judged& judged, double p, const RegressionOptions& options,
            std::size_t metrics) {
  if (metric.verdict == Verdict::unreliable) return;
  const HistoryStep& step = judged.step;
  metric.verdict = Verdict::inconclusive;
  metric.reason = step.undefined;
  if (!step.undefined.empty()) return;
  metric.adjusted_p = p;
  const double limit = std::log1p(options.threshold);
  const double worse = step.step * sign_of(metric.better);  // above 0: for the worse
  const bool significant = p <= options.alpha;
  const double margin = stats::t_quantile_of_tail(options.alpha, step.degrees) * step.error;
  const bool neither = metric.better == Better::neither;
  if (significant && std::fabs(worse) >= limit) {
    metric.verdict = neither ? Verdict::different : worse > 0 ? Verdict::worse : Verdict::better;
  } else if ((neither ? std::fabs(worse) : worse) + margin < limit) {
    metric.verdict = Verdict::same;
  } else {
    metric.reason = why_undecided(metric, step, significant, worse);
    const auto have = static_cast<std::int64_t>(metric.current.size());
    if (step.spread == 0) metric.more_runs = 1;
    if (step.spread == 0) return;
    const auto needed = sessions_needed(judged.history, judged.breaks, options, metrics);
    if (needed) metric.more_runs = std::max<std::int64_t>(1, *needed - have);
  }
}

}  // namespace

std::int64_t history_needed(std::int64_t fresh) { return kLevelNeeded + (kStepsNeeded + 1) * fresh - 1; }

HistoryStep step_from(std::span<const double> history, std::span<const std::int64_t> breaks,
                      std::span<const double> fresh) {
  WM_CHECK(!fresh.empty());
  const auto count = static_cast<std::int64_t>(fresh.size()), past = static_cast<std::int64_t>(history.size());
  if (past < history_needed(count)) {
    return undefined(
        fmt::format("{} session{} of history, {} needed", past, past == 1 ? "" : "s", history_needed(count)), true);
  }
  const auto old = logarithms(history), now = logarithms(fresh);
  if (!old || !now) return undefined("values that are not above 0 have no ratio");
  const std::int64_t since = past - (breaks.empty() ? 0 : breaks.back());
  if (since < kLevelNeeded) {
    return undefined(fmt::format("the level changed {} session{} ago, {} are needed since", since,
                                 since == 1 ? "" : "s", kLevelNeeded),
                     true);
  }
  HistoryStep step;
  // A shorter level where a longer one would leave too few steps.
  const std::int64_t leaves_steps = past + 1 - (kStepsNeeded + 1) * count;
  step.level_sessions = std::min({kLevelSessions, since, std::max(kLevelNeeded, std::min(past / 3, leaves_steps))});
  const auto level = static_cast<std::size_t>(step.level_sessions);
  const auto steps = own_steps(*old, breaks, level, fresh.size());
  step.steps = static_cast<std::int64_t>(steps.size());
  if (step.steps < kStepsNeeded * count) {
    return undefined(fmt::format("its level changed too often: {} steps without a change, {} needed", step.steps,
                                 kStepsNeeded * count),
                     true);
  }
  step.level = stats::mean_of(std::span(*old).last(level));
  against_steps(step, steps, stats::mean_of(*now) - step.level, count);
  if (step.spread > kRounding) return step;
  step.spread = step.error = 0;
  if (std::fabs(step.step) <= kRounding) {
    step.step = 0;
  } else {
    step.p = order_p(since, count);
  }
  return step;
}

std::vector<stats::ChangePoint> level_changes(std::span<const double> history) {
  for (const double value : history) {
    if (!std::isfinite(value)) return {};
  }
  // Without regard to autocorrelation, unlike in a report on changes: a change that is missed makes the history look
  // noisier than it is, one that is imagined only costs some of its steps.
  return stats::change_points(history, {.max_p = 0.001, .min_magnitude = 0.05, .autocorrelation = false});
}

std::optional<double> p_of_change(std::span<const double> history, std::span<const double> fresh, double threshold) {
  const double limit = std::log1p(threshold);
  double low = fresh[0], high = fresh[0];
  for (const auto values : {history, fresh}) {
    for (const double value : values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  // A step is a difference of means, less a mean of such differences.
  if (low > 0 && 2 * std::log(high / low) < limit) return std::nullopt;
  const HistoryStep step = step_from(history, places_of(level_changes(history)), fresh);
  if (!step.undefined.empty() || std::fabs(step.step) < limit) return std::nullopt;
  return step.p;
}

std::optional<std::int64_t> sessions_needed(std::span<const double> history, std::span<const std::int64_t> breaks,
                                            const RegressionOptions& options, std::size_t metrics) {
  const double alpha = options.alpha / static_cast<double>(std::max<std::size_t>(1, metrics));
  const double limit = std::log1p(options.threshold), power = stats::normal_quantile(kPlannedPower);
  for (std::int64_t fresh = 1; fresh <= kMostSessions; ++fresh) {
    // What the new sessions are does not matter here: the error is that of the history's steps.
    const std::vector<double> imagined(static_cast<std::size_t>(fresh), 1);
    const HistoryStep step = step_from(history, breaks, imagined);
    if (!step.undefined.empty()) return std::nullopt;
    const double same = stats::t_quantile_of_tail(options.alpha, step.degrees) + power;
    const double worse = (stats::t_quantile_of_tail(alpha / 2, step.degrees) + power) / 2;
    const double found = 2 * limit - power * step.error;  // exceeded by nine of ten steps of twice the threshold
    const double floor =
        empirical_p(step.largest, found, found > step.largest ? 0 : 1, static_cast<double>(step.steps));
    if (step.error * std::max(same, worse) <= limit && floor <= alpha) return fresh;
  }
  return std::nullopt;
}

void judge_check(std::span<MetricCheck> metrics, const RegressionOptions& options) {
  WM_CHECK(options.threshold > 0 && options.alpha > 0 && options.alpha < 1);
  std::vector<Judged> judged;
  std::vector<double> p;
  for (auto& metric : metrics) {
    if (metric.current.empty()) {  // the caller has said why there is no result
      judged.push_back({undefined(metric.reason.empty() ? "no result" : metric.reason), {}, {}});
      continue;
    }
    judged.push_back(measure(metric, options));
    if (metric.p) p.push_back(*metric.p);
  }
  const auto adjusted = stats::holm(p, options.alpha).adjusted;
  std::size_t next = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    decide(metrics[i], judged[i], metrics[i].p ? adjusted[next++] : 1, options, metrics.size());
  }
}

namespace {

/// `warpmark run` of what a stored command line measured: also one of `warpmark check`.
std::string run_command_of(const std::string& command) {
  if (command.starts_with("warpmark run ")) return command;
  if (const auto own = command.find(" -- "); own != std::string::npos) return "warpmark run" + command.substr(own);
  const std::string option = " --project ";
  const auto project = command.find(option);
  if (project == std::string::npos) return "warpmark run -- CMD";
  return "warpmark run" + command.substr(project, command.find(' ', project + option.size()) - project);
}

}  // namespace

std::string no_such_branch(const std::string& branch, const std::map<std::string, std::int64_t>& counts) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names, shown;
  for (const auto& [name, count] : counts) {
    names.push_back(name);
    if (shown.size() < kShown) shown.push_back(fmt::format("{} ({})", name, count));
  }
  if (shown.empty()) return "no session of a branch is stored: measure " + branch + " with warpmark run";
  if (names.size() > kShown) shown.push_back(fmt::format("{} more", names.size() - kShown));
  const auto meant = nearest(branch, names);
  return fmt::format("no session of branch '{}' is stored{}; sessions by branch: {}", branch,
                     meant.empty() ? "" : " (did you mean '" + meant + "'?)", join(shown, ", "));
}

std::string how_to_complete_history(const Check& check, const std::string& command) {
  std::int64_t missing = 0;
  for (const MetricCheck& metric : check.metrics) {
    if (metric.verdict != Verdict::inconclusive || metric.baseline.empty() || metric.current.empty()) continue;
    missing = std::max(missing, history_needed(static_cast<std::int64_t>(check.sessions.size())) -
                                    static_cast<std::int64_t>(metric.baseline.size()));
  }
  if (missing <= 0) return {};
  return fmt::format("To complete the history, measure {} {} more time{}: {}", check.branch, missing,
                     missing == 1 ? "" : "s", run_command_of(command));
}

}  // namespace warpmark::validate
