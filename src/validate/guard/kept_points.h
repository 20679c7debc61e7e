// All results over time by the label of their case: what rules, lists and checks of many sessions read at once.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.h"

namespace warpmark::validate {

/// A point as the store has it, except when its run began: that is the start of its session.
[[nodiscard]] store::RunPoint point_of(const store::RunPoint& facts, const store::SeriesPoint& point);

class KeptPoints {
 public:
  /// The newest `most` points of results that passed. Errors are those of the store.
  [[nodiscard]] static Result<KeptPoints> read(store::Store& store, std::size_t most);

  /// By label of the case, and metric. Points of several cases of one label are in the order of their sessions.
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, store::PointSeries>& series() const {
    return series_;
  }
  /// Whether several cases have this label; their points are mixed.
  [[nodiscard]] bool is_shared(const std::string& label) const { return shared_.contains(label); }
  /// All metrics, each newest first, of one branch without uncommitted changes; of any machine if `fingerprint` is
  /// empty.
  [[nodiscard]] std::vector<store::RunPoint> clean_points(const std::string& label, const std::string& branch,
                                                          const std::string& fingerprint) const;
  /// nullptr where it has no point.
  [[nodiscard]] const store::RunPoint* session(const std::string& id) const {
    const auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second;
  }

 private:
  void keep_newest(std::size_t most);

  std::map<std::pair<std::string, std::string>, store::PointSeries> series_;
  std::set<std::string> shared_;
  store::PointTable table_;                                           ///< the sessions that the points are of
  std::unordered_map<std::string, const store::RunPoint*> sessions_;  ///< by id
};

}  // namespace warpmark::validate
