// Is a new result worse than its history, or is it what this history does every day? Pure.
//
// A session counts once, by its median: samples of one session share a machine's state and agree far better than two
// sessions do. Everything is judged on logarithms. The level is the mean of the newest sessions (at most five) since
// the last change of level, and the question is whether the step from there to the new sessions is larger than the
// steps that the history itself makes, taken the same way at every earlier place: mean of so many sessions less the
// mean of so many before. These steps hold whatever makes sessions differ (a warm room, a neighbour on the host, which
// compilation won) with its autocorrelation and its drift; no model of the noise is needed.
//   p         Student's t of the new step against the mean and spread of the history's steps, with as many degrees of
//             freedom as there are steps that do not overlap in their new sessions, less one; but not below what the
//             history allows whatever its distribution: (1 + c) / (1 + steps) where it has made c steps as large,
//             (largest / step)^2 / (1 + steps) beyond its largest
//   worse     p, adjusted, is at most alpha and the step beyond the threshold
//   better    the same in the other direction
//   same      a step for the worse beyond the threshold is ruled out with confidence 1 - alpha
//   inconclusive  else, and where there is too little history: never a silent pass
// The prediction interval of Bencher's t-test and the one-step errors of forecasting (Hyndman, Athanasopoulos,
// Forecasting: Principles and Practice, 3rd ed., section 5.5) are its relatives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/check.h"
#include "stats/change_points.h"

namespace warpmark::validate {

struct RegressionOptions {
  double threshold = 0.05;  ///< smallest relative change that counts, above 0
  double alpha = 0.05;
  std::int64_t most_history = 100;  ///< newest sessions of the baseline that are used
};

/// The step from a history to new sessions, before any verdict. Logarithms throughout.
struct HistoryStep {
  std::int64_t level_sessions = 0;
  double level = 0;        ///< mean of these
  std::int64_t steps = 0;  ///< of the history
  double step = 0;         ///< of the new sessions, less the mean step of the history
  double spread = 0;       ///< standard deviation of the history's steps; 0 for a constant history
  double largest = 0;      ///< of the history's steps, less their mean, without sign
  double error = 0;        ///< standard error of `step` as a prediction
  double degrees = 1;
  double p = 1;            ///< two-sided
  std::string undefined;   ///< why there is none; all else is 0 then
  bool too_short = false;  ///< `undefined` because more history is needed
};

/// `breaks` are indices of sessions that begin a new level (stats::change_points); no step crosses one. Oldest first.
[[nodiscard]] HistoryStep step_from(std::span<const double> history, std::span<const std::int64_t> breaks,
                                    std::span<const double> fresh);

/// Changes of level in a history of at least 5 %.
[[nodiscard]] std::vector<stats::ChangePoint> level_changes(std::span<const double> history);

/// Without adjustment, of a step of at least the threshold; absent where there is none. For looking through many
/// histories: most of them are done before any test.
[[nodiscard]] std::optional<double> p_of_change(std::span<const double> history, std::span<const double> fresh,
                                                double threshold);

/// Fewest sessions of history since its last change of level, and in all, for so many new sessions.
inline constexpr std::int64_t kLevelNeeded = 3;
[[nodiscard]] std::int64_t history_needed(std::int64_t fresh);

/// New sessions after which an unchanged program is "same" and one that is twice the threshold worse is "worse", each
/// with 90 %, judged among so many metrics, from the steps of so many sessions in this history; absent where the
/// history does not tell of as many.
[[nodiscard]] std::optional<std::int64_t> sessions_needed(std::span<const double> history,
                                                          std::span<const std::int64_t> breaks,
                                                          const RegressionOptions& options, std::size_t metrics = 1);

/// Verdicts of all metrics together, Holm-adjusted; fills everything that follows from baseline, current and better.
/// Baselines longer than most_history are cut. Metrics whose verdict is unreliable keep it.
void judge_check(std::span<MetricCheck> metrics, const RegressionOptions& options);

/// Why a check has no history: the branch has no session. `counts`: sessions by branch.
[[nodiscard]] std::string no_such_branch(const std::string& branch, const std::map<std::string, std::int64_t>& counts);

/// How to measure what the history of the branch lacks, by the command line of a session of it; empty where nothing is
/// missing, or where the branch has no history at all.
[[nodiscard]] std::string how_to_complete_history(const Check& check, const std::string& command);

}  // namespace warpmark::validate
