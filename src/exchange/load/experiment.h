// An experiment folder as genai-bench writes it: experiment_metadata.json and one JSON file a run. Read from ours and
// from its own alike, so that tables and plots need no more than the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace warpmark::exchange {

struct ExperimentRun {
  std::string file;
  std::string scenario;
  std::string iteration_type;  ///< "num_concurrency" or "batch_size"
  std::int64_t level = 0;      ///< its value
  Json aggregated;             ///< times in seconds
  Json requests;               ///< an array, times in seconds
};

struct Experiment {
  std::string folder;
  Json metadata;
  std::vector<ExperimentRun> runs;  ///< by scenario, then level
};

/// Data error where the folder has no run, or a file is damaged.
[[nodiscard]] Result<Experiment> read_experiment(const std::string& folder);

/// The number at a dotted path in the run's aggregated metrics, such as "stats.ttft.p99"; nothing where there is none.
[[nodiscard]] std::optional<double> field_of(const ExperimentRun& run, std::string_view path);

/// Whether the field is a time, which --metrics-time-unit scales.
[[nodiscard]] bool is_time_field(std::string_view path);

/// All paths to numbers in the aggregated metrics of the runs, sorted.
[[nodiscard]] std::vector<std::string> numeric_fields(const Experiment& experiment);

/// "s" or "ms" as a factor from seconds. Usage error for others.
[[nodiscard]] Result<double> time_scale(std::string_view unit);

/// The text of a metadata field; empty without it.
[[nodiscard]] std::string metadata_text(const Experiment& experiment, const std::string& key);

}  // namespace warpmark::exchange
