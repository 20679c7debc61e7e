// Trend: how metrics went over the sessions of a branch, where their level changed, and where the machine did. JSON:
// "warpmark.trend/1" (docs/schema/trend.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/check.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kTrendSchema = "warpmark.trend/1";

struct TrendPoint {
  HistoryPoint point;
  std::string branch;
  std::string machine;               ///< fingerprint
  std::optional<Interval> interval;  ///< of the session's median
};

/// The level of a series changed.
struct TrendChange {
  std::int64_t index = 0;  ///< of the first point of the new level
  double before = 0;       ///< means of the levels on both sides
  double after = 0;
  double p = 1;
  std::optional<bool> worse;  ///< in the metric's own direction; absent where it has none
};

/// The machine changed: points on both sides say nothing about one another.
struct MachineChange {
  std::int64_t index = 0;  ///< of the first point on the new machine
  std::string what;        ///< "driver 550.54 instead of 535.12"
};

/// The level of a series creeps: too slowly for any one session to be the cause.
struct TrendDrift {
  std::int64_t from = 0;      ///< index of the first point of what it was fitted to; the newest is the last
  double per_session = 0;     ///< ratio less 1, from one session to the next
  Interval interval;          ///< of per_session
  double change = 0;          ///< ratio less 1, from the first to the newest
  Interval change_interval;   ///< of it
  double p = 1;               ///< of "no trend"
  std::optional<bool> worse;  ///< in the metric's own direction; absent where it has none
  bool marked = false;        ///< the interval holds no 0, and the change is at least the threshold
};

struct TrendSeries {
  std::string label;
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::vector<TrendPoint> points;  ///< oldest first
  std::vector<TrendChange> changes;
  std::vector<MachineChange> machines;
  std::optional<TrendDrift> drift;  ///< of the newest machine's points; absent of fewer than 10
  std::optional<double> level;      ///< of the newest sessions
  std::optional<Interval> band;     ///< where the next session is expected
  std::int64_t band_from = 0;       ///< index of the first point of the newest level
};

struct Trend {
  std::string command;
  std::string branch;  ///< empty for all
  std::string since;   ///< as given: a date or a revision; empty for all
  std::string until;
  double threshold = 0.05;  ///< smallest change that is marked
  std::vector<TrendSeries> series;
  std::vector<std::string> left_out;  ///< "3 sessions with uncommitted changes (--dirty shows them)"
};

[[nodiscard]] Json to_json(const Trend& trend);

}  // namespace warpmark
