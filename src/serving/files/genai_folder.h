// The files of an experiment as genai-bench writes them: experiment_metadata.json and one JSON a run, with its names
// and fields, so that what reads its folders reads ours. Two fields tell the truth where its own do not: error_rate,
// which is always 0 there, and rates, which are of the steady window. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// File names and contents.
[[nodiscard]] std::vector<std::pair<std::string, Json>> genai_files(const LoadReport& report);

}  // namespace warpmark::serving
