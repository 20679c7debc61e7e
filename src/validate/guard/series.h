// Points of the store as series: one metric of one case over time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/check.h"
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

}  // namespace warpmark::validate
