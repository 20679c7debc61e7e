// Where a series changed its level, and what its next session is expected to be. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/trend.h"
#include "store/store.h"
#include "validate/guard/series.h"

namespace warpmark::validate {

/// Fills changes alone, from the points, better and machines of a series.
void find_changes(TrendSeries& series, double threshold);

/// Fills changes, drift, level, band and band_from from the points, better and machines of a series. Points on both
/// sides of a change of the machine are never set against one another. `threshold` is the smallest change that is
/// marked.
void mark_changes(TrendSeries& series, double threshold);

/// One end of what is shown; all empty where there is none.
struct TrendBound {
  std::string text;  ///< as given
  std::string date;  ///< "2026-11-01", or longer, in UTC: a session counts by when it was measured
  /// Of a revision: its commit, and all that it descends from. Sessions count by their commits.
  std::string commit;
  std::set<std::string> ancestors;
};

struct TrendOptions {
  std::string metrics;                ///< glob, see matches_series; empty for all
  std::optional<std::string> branch;  ///< absent: main where it has results, else all
  std::string fingerprint;            ///< only results of this machine; empty for all
  bool dirty = false;                 ///< also results with uncommitted changes
  std::int64_t last = 200;            ///< newest sessions of a series
  double threshold = 0.05;
  TrendBound since;
  TrendBound until;
  CommitOrder order;  ///< of the branch's commits; empty: sessions are ordered by when they were measured
};

/// Series of points as Store::find gives them (newest first): those that match `options.metrics`, the newest
/// `options.last` of each, split and marked as in a Trend. The store is asked what differs between machines.
[[nodiscard]] Result<std::vector<TrendSeries>> trends_of_points(store::Store& store,
                                                                const std::vector<store::RunPoint>& points,
                                                                const TrendOptions& options);

/// Usage error that names what there is if nothing matches.
[[nodiscard]] Result<Trend> trend_of(store::Store& store, const TrendOptions& options);

}  // namespace warpmark::validate
