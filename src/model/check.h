// Check: is today's result worse than the history of a branch? One entry a metric of a case, with what it was compared
// with and how certain that is. JSON: "warpmark.check/1" (docs/schema/check.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/bisection.h"
#include "model/comparison.h"
#include "model/machine.h"
#include "model/metric.h"
#include "model/run.h"

namespace warpmark {

inline constexpr const char* kCheckSchema = "warpmark.check/1";

/// One session of a series.
struct HistoryPoint {
  std::string session;
  std::string started;  ///< UTC
  std::string commit;
  bool dirty = false;
  std::int64_t n = 0;  ///< samples in the session
  double value = 0;    ///< their median
};

/// The history changed its level here, so older sessions say nothing about today's level.
struct Restart {
  HistoryPoint at;       ///< the first session of the new level
  double change = 0;     ///< ratio of the levels less 1
  bool worse = false;    ///< in the metric's own direction
  std::int64_t ago = 0;  ///< sessions of the baseline since then, this one included
};

struct MetricCheck {
  std::string label;  ///< the case, for people
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::vector<HistoryPoint> baseline;  ///< oldest first
  std::vector<HistoryPoint> current;
  std::int64_t level_sessions = 0;   ///< the newest sessions of the baseline that make its level
  std::optional<double> level;       ///< their geometric mean
  std::optional<double> value;       ///< that of the current sessions
  std::optional<double> ratio;       ///< value / level, less the drift of the history; absent where undefined
  std::optional<Interval> interval;  ///< of the ratio
  std::optional<double> p;           ///< of "the history goes on as it was", two-sided
  std::optional<double> adjusted_p;  ///< over all metrics of the check (Holm)
  std::optional<double> noise;       ///< how far one session typically lies from the level before it, a ratio
  std::optional<double> detectable;  ///< smallest change for the worse that is found with 90 %, a ratio
  Verdict verdict = Verdict::inconclusive;
  std::string reason;                     ///< why it is inconclusive or unreliable
  std::optional<std::int64_t> more_runs;  ///< sessions of the same commit that would probably decide
  std::optional<Restart> restart;
};

/// Who may have made a metric worse: the commits since the last session that was good.
struct Suspects {
  std::string metric;           ///< "benchmark metric", of the metrics that are worse the one that changed most
  std::string good;             ///< commit of the newest session of the baseline that the checked commit descends from
  std::string bad;              ///< the checked commit
  std::vector<Commit> commits;  ///< after the good one, oldest first, first parents; the bad one is the last
  std::string reason;           ///< why they cannot be named; then there are none
  std::optional<Bisection> search;  ///< that was asked for, and came to an end
};

struct Check {
  std::string command;
  std::string branch;  ///< of the baseline; of one that is a file, its name
  double threshold = 0.05;
  double alpha = 0.05;
  bool tested = true;                 ///< else decided on two values, with no idea of the noise
  std::vector<std::string> sessions;  ///< what is checked: ids
  std::string started;                ///< of the newest of them, UTC
  std::string commit;
  std::string commit_branch;
  bool dirty = false;
  std::vector<MetricCheck> metrics;
  std::vector<std::string> missing;  ///< metrics of the newest baseline session that today's lacks
  std::string moved;   ///< that the branch has sessions which the checked commit does not descend from; or empty
  std::string advice;  ///< what decides where the noise of the history does not let this check; or empty
  std::optional<Suspects> suspects;       ///< where a metric is worse
  std::vector<Disturbance> disturbances;  ///< how the machine differed from what it was during the baseline
  Machine machine;
  Build build;
};

/// The gravest verdict of all metrics: unreliable, worse, inconclusive, different, better, same. Inconclusive for none.
[[nodiscard]] Verdict overall(const Check& check);

[[nodiscard]] Json to_json(const Check& check);

}  // namespace warpmark
