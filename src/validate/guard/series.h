// Points of the store as series: one metric of one case over time, in the order of commits, or against one baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/check.h"
#include "model/run.h"
#include "store/queries.h"
#include "store/store.h"

namespace warpmark::validate {

struct Series {
  std::string label;  ///< the case, for people: "gemm m=1024 dtype=f32 cold", "./bench --size 5"
  std::string metric;
  std::string unit;
  Better better = Better::lower;
  std::vector<store::RunPoint> points;  ///< oldest first, only of results that passed
};

/// By label and metric; `points` newest first, as Store::find gives them.
[[nodiscard]] std::vector<Series> series_of(std::vector<store::RunPoint> points);

/// Machines that take turns (several runners) are series of their own, named after them, and so are nodes of one make,
/// which have one fingerprint, if each of their names comes back; where one machine follows another it stays one
/// series, in which the machine changes.
[[nodiscard]] std::vector<Series> by_machines_in_turns(Series series);
/// The same of points that are not copied: their places, by part; one part where nothing takes turns.
[[nodiscard]] std::vector<std::vector<std::size_t>> machines_in_turns(std::span<const store::RunPoint* const> points);
/// What a part is called where there are several.
[[nodiscard]] std::string label_of_machine(const std::string& label, const store::RunPoint& newest);

/// `params` as to_text(Params) writes them.
[[nodiscard]] std::string case_label(const std::string& workload, const std::string& params, const std::string& device,
                                     Mode mode);
[[nodiscard]] std::string case_label(const Run& run);

/// A glob on the metric or on "label metric"; an empty one matches all.
[[nodiscard]] bool matches_series(const std::string& glob, const std::string& label, const std::string& metric);

[[nodiscard]] HistoryPoint to_history_point(const store::RunPoint& point);
[[nodiscard]] HistoryPoint to_history_point(const Session& session, const Metric& metric);

/// Which of the facts that decide speed nobody knows: "no CPU", "no kernel", "no driver of its GPU", ... Empty for a
/// machine that is known, or that a file or a person has named.
[[nodiscard]] std::vector<std::string> unknown_facts(const Machine& machine);

/// What of the facts that decide speed differs between two machines: "driver 550.54 instead of 535.12". Empty if
/// nothing that is known does.
[[nodiscard]] std::string machine_differences(const Machine& now, const Machine& before);

struct CommitOrder {
  /// How many commits of the list come before it: 0 is the newest, its parents come later. Empty: nothing is known.
  std::unordered_map<std::string, std::int64_t> age;
  bool complete = true;  ///< false where a shallow clone ends before the history does
  [[nodiscard]] bool contains(const std::string& commit) const { return age.contains(commit); }
};

/// Sorts points, newest first, by their commits, and those of one commit by time. Points whose commits are not in the
/// order keep their places.
void sort_by_commits(std::vector<store::RunPoint>& points, const CommitOrder& order);

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

struct PointOptions {
  std::string name;     ///< of the baseline, for people
  std::string metrics;  ///< glob, see matches_series; empty for all
  double threshold = 0.05;
};

/// Worse: a median is worse by the threshold or more. Where no metric has a direction, one that changed is
/// inconclusive. What only the baseline has is named as missing, and that the machines differ as a disturbance. Usage
/// error where nothing is in both.
[[nodiscard]] Result<Check> check_point_values(const Session& baseline, const Session& now,
                                               const PointOptions& options);

}  // namespace warpmark::validate
