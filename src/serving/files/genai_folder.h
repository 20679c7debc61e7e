// The files of an experiment as genai-bench writes them: experiment_metadata.json and one JSON a run, with its names
// and fields, so that what reads its folders reads ours. Two fields tell the truth where its own do not: error_rate,
// which is always 0 there, and rates, which are of the steady window. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "serving/files/exports.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

struct GenaiFile {
  std::string name;
  std::function<void(const TakeText&)> write;  ///< its content, piece by piece; as long as the report is there
};

[[nodiscard]] std::string run_file_name(const ScenarioResult& result, const std::string& task);

[[nodiscard]] std::vector<GenaiFile> genai_files(const LoadReport& report);

}  // namespace warpmark::serving
