// The results that rules over history read, in little memory: what the points of a session or of a series share is
// there once, so that a point takes some 80 bytes instead of 700.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.h"

namespace warpmark::watch {

/// One value of a series.
struct KeptPoint {
  const store::RunPoint* session = nullptr;  ///< a point of it, for what all its points share
  std::int64_t index = 0;
  std::int64_t n = 0;
  double median = 0;
  std::optional<Interval> interval;
};

/// One metric of one case, of every branch and machine.
struct KeptSeries {
  store::RunPoint facts;  ///< what all its points share
  std::vector<KeptPoint> points;
};

/// A point as the store has it, except when its run began: that is the start of its session.
[[nodiscard]] store::RunPoint whole(const store::RunPoint& facts, const KeptPoint& point);

class KeptPoints {
 public:
  /// The newest `most` points of results that passed. Errors are those of the store.
  [[nodiscard]] static Result<KeptPoints> read(store::Store& store, std::size_t most);

  /// By label of the case, and metric.
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, KeptSeries>& series() const { return series_; }
  [[nodiscard]] KeptPoint kept(const store::RunPoint& point) const;

 private:
  void add(const std::string& label, const store::RunPoint& point);
  void keep_newest(std::size_t most);

  std::map<std::pair<std::string, std::string>, KeptSeries> series_;
  std::unordered_map<std::string, store::RunPoint> sessions_;  ///< by id
  std::size_t count_ = 0;
};

}  // namespace warpmark::watch
