// All results over time in little memory: what the points of a session or of a series share is there once.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/queries.h"

namespace warpmark::store {

/// One value of a series. It takes some 80 bytes, a RunPoint 700.
struct SeriesPoint {
  const RunPoint* session = nullptr;  ///< a point of it, for what all its points share
  std::int64_t index = 0;
  std::int64_t n = 0;
  double median = 0;
  std::optional<Interval> interval;
};

/// One metric of one case, of every branch and machine.
struct PointSeries {
  RunPoint facts;                   ///< what all its points share; unit and direction are those of the newest
  std::vector<SeriesPoint> points;  ///< oldest first
};

struct PointTable {
  std::unordered_map<std::int64_t, RunPoint> sessions;  ///< nodes stay where they are when the table moves
  std::vector<PointSeries> series;
};

}  // namespace warpmark::store
