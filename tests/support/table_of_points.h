// Points of a store as its table of series.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "store/store.h"

namespace warpmark::store {

/// `points` newest first, as Store::find gives them.
inline PointTable table_of(const std::vector<RunPoint>& points) {
  PointTable table;
  std::map<std::string, const RunPoint*> sessions;
  std::map<std::tuple<std::string, std::string, std::string, Mode, std::string>, PointSeries> series;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (point->outcome != Outcome::passed) continue;
    const RunPoint*& session = sessions[point->session];
    if (session == nullptr) session = &(table.sessions[static_cast<std::int64_t>(sessions.size())] = *point);
    auto& one = series[{point->workload, point->params, point->device, point->mode, point->metric}];
    one.facts = *point;
    one.points.push_back({session, point->index, point->n, point->median, point->interval});
  }
  for (auto& [key, one] : series) table.series.push_back(std::move(one));
  return table;
}

}  // namespace warpmark::store
