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
  std::string started;
  std::string commit;
  bool dirty = false;
  std::int64_t n = 0;
  double value = 0;
};

/// The history changed its level here, so older sessions say nothing about today's level.
struct Restart {
  HistoryPoint at;
  double change = 0;
  bool worse = false;
  std::int64_t ago = 0;  ///< sessions of the baseline since then, this one included
};

struct MetricCheck {
  std::string label;
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::vector<HistoryPoint> baseline;
  std::vector<HistoryPoint> current;
  std::int64_t level_sessions = 0;
  std::optional<double> level;
  std::optional<double> value;  ///< that of the current sessions
  std::optional<double> ratio;
  std::optional<Interval> interval;  ///< of the ratio
  std::optional<double> p;
  std::optional<double> adjusted_p;
  std::optional<double> noise;
  std::optional<double> detectable;
  Verdict verdict = Verdict::inconclusive;
  std::string reason;
  std::optional<std::int64_t> more_runs;
  std::optional<Restart> restart;
};

/// Who may have made a metric worse: the commits since the last session that was good.
struct Suspects {
  std::string metric;
  std::string good;
  std::string bad;
  std::vector<Commit> commits;
  std::string reason;               ///< why they cannot be named; then there are none
  std::optional<Bisection> search;  ///< that was asked for, and came to an end
};

struct Check {
  std::string command;
  std::string branch;  ///< of the baseline; of one that is a file, its name
  double threshold = 0.05;
  double alpha = 0.05;
  bool tested = true;  ///< else decided on two values, with no idea of the noise
  std::vector<std::string> sessions;
  std::string started;
  std::string commit;
  std::string commit_branch;
  bool dirty = false;
  std::vector<MetricCheck> metrics;
  std::vector<std::string> missing;
  std::string moved;
  std::string advice;                ///< what decides where the noise of the history does not let this check; or empty
  std::optional<Suspects> suspects;  ///< where a metric is worse
  std::vector<Disturbance> disturbances;
  Machine machine;
  Build build;
};

/// The gravest verdict of all metrics: unreliable, worse, inconclusive, different, better, same. Inconclusive for none.
[[nodiscard]] Verdict overall(const Check& check);

[[nodiscard]] Json to_json(const Check& check);

}  // namespace warpmark
