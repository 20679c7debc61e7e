// What an analysis of a profile says: steps, where their time goes (summing exactly to the step), findings, tables,
// flaws of the data, and what to record for a sharper answer. JSON: "warpmark.analysis/1"
// (docs/schema/analysis.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/finding.h"
#include "model/metric.h"
#include "model/profile/timeline.h"

namespace warpmark {

/// One exclusive part of the analyzed steps. The parts of a rank sum to the length of its steps, to the nanosecond.
struct BreakdownPart {
  std::string id;     ///< "gemm", "elementwise", "exposed_communication", "idle_data_loading", ...
  std::string group;  ///< "compute", "communication", "copy" or "idle"
  std::int64_t total_ns = 0;
  double share = 0;  ///< of the steps, 0..1
};

struct StepSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A step far longer than the others (a checkpoint, an evaluation, a profiler's cycle), which no mean counts.
struct StepPause {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string name;
};

struct RankAnalysis {
  int rank = 0;
  std::string gpu;  ///< name; empty if unknown
  std::vector<StepSpan> steps;
  std::int64_t median_step_ns = 0;
  std::vector<BreakdownPart> breakdown;
  std::vector<StepPause> pauses{};  ///< between the steps, left out
};

/// A value of a table: text, or a number in its column's unit.
using TableValue = std::variant<std::string, std::int64_t, double>;

struct AnalysisColumn {
  std::string id;
  std::string title;
  std::string unit;
};

/// kernels, operators, launches, copies, queue, idle, overlap, critical_path, diff, ...
struct AnalysisTable {
  std::string id;
  std::string title;
  std::string note;
  std::vector<AnalysisColumn> columns;
  std::vector<std::vector<TableValue>> rows;
};

/// AnalysisTable::id of the one whose rows are points of a plot: time (s), allocated and reserved bytes, of which the
/// last may be an empty text.
inline constexpr const char* kMemoryCurveTable = "memory_over_time";
/// AnalysisTable::id of the one whose rows are peaks (columns: name, what, FLOP/B, FLOP/s, share, B/s) and kernels
/// below them; what does not apply is an empty text.
inline constexpr const char* kKernelRooflineTable = "kernel_roofline";
inline constexpr const char* kMemoryPeak = "memory peak";    ///< second column of that table ...
inline constexpr const char* kComputePeak = "compute peak";  ///< ... of which all other rows are kernels

/// Something the analysis could not see, and how to record it.
struct MissingData {
  std::string name;  ///< "Python stacks"
  std::string what;  ///< the name, and after a colon what it would show
  std::string how;
};

struct Analysis {
  std::vector<std::string> sources;
  int rank_count = 0;
  bool of_one_process = false;  ///< the ranks are GPUs of it
  std::vector<std::string> gpus;
  std::string steps_found_by;
  std::vector<RankAnalysis> ranks;
  std::int64_t median_step_ns = 0;
  double undisturbed_step_ns = 0;  ///< mean of the rank that the others wait for, without the cost of recording ...
  double recording_ns = 0;         ///< ... which is estimated as this much of a step
  std::vector<BreakdownPart> breakdown;  ///< mean over ranks of the time a step; sums to the mean step
  std::vector<Finding> findings;
  std::string verdict;  ///< one sentence: the top finding, or "nothing worth fixing above x %"
  std::vector<std::string> cautions;
  Gain combined;
  std::vector<AnalysisTable> tables;
  std::vector<MissingData> missing;
  std::vector<DataQualityIssue> quality;
};

/// The step of the rank that the others wait for, in two profiles.
struct StepDifference {
  double before_s = 0;  ///< mean
  double after_s = 0;   ///< mean
  std::int64_t steps_before = 0;
  std::int64_t steps_after = 0;
  double ratio = 1;                  ///< after / before
  std::optional<Interval> interval;  ///< of the ratio, from the variation between steps; none with too few of them
};

/// What changed from one profile to another.
struct ProfileDifference {
  std::optional<StepDifference> step;  ///< of two profiles with timelines
  std::vector<AnalysisTable> tables;   ///< the step, then its parts, largest change first
};

}  // namespace warpmark
