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
  std::string machine;
  std::optional<Interval> interval;  ///< of the session's median
};

/// The level of a series changed.
struct TrendChange {
  std::int64_t index = 0;
  double before = 0;  ///< means of the levels on both sides
  double after = 0;
  double p = 1;
  std::optional<bool> worse;
};

/// The machine changed: points on both sides say nothing about one another.
struct MachineChange {
  std::int64_t index = 0;
  std::string what;
};

/// The level of a series creeps: too slowly for any one session to be the cause.
struct TrendDrift {
  std::int64_t from = 0;
  double per_session = 0;
  Interval interval;  ///< of per_session
  double change = 0;
  Interval change_interval;  ///< of it
  double p = 1;
  std::optional<bool> worse;
  bool marked = false;
};

struct TrendSeries {
  std::string label;
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::vector<TrendPoint> points;
  std::vector<TrendChange> changes;
  std::vector<MachineChange> machines;
  std::optional<TrendDrift> drift;  ///< of the newest machine's points; absent of fewer than 10
  std::optional<double> level;
  std::optional<Interval> band;  ///< where the next session is expected
  std::int64_t band_from = 0;
};

struct Trend {
  std::string command;
  std::string branch;
  std::string since;
  std::string until;
  double threshold = 0.05;
  std::vector<TrendSeries> series;
  std::vector<std::string> left_out;
};

[[nodiscard]] Json to_json(const Trend& trend);

}  // namespace warpmark
