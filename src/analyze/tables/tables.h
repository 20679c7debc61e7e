// The tables of an analysis, as HTA (Holistic Trace Analysis) has them; one function each.
#pragma once

#include <vector>

#include "analyze/analyze.h"
#include "analyze/evidence.h"
#include "model/analysis.h"

namespace warpmark::analyze {

[[nodiscard]] AnalysisTable kernel_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable operator_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable launch_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable queue_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable copy_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable idle_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable overlap_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable rank_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable collective_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable collective_benchmark_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable critical_path_table(const Evidence& evidence);

[[nodiscard]] std::vector<AnalysisTable> all_tables(const Evidence& evidence, const AnalyzeOptions& options);

}  // namespace warpmark::analyze
