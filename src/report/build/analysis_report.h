// What a person wants to read about an analyzed profile, in that order: the verdict, where the time of a step goes, the
// findings with their evidence, fixes and gains, the flaws of the data, and folded away every table behind them. Pure.
#pragma once

#include <cstddef>

#include "model/analysis.h"
#include "model/report.h"

namespace warpmark::report {

struct AnalysisReportOptions {
  std::size_t top = 5;          ///< findings shown in full; the rest one line each
  std::size_t table_rows = 15;  ///< of each table
  bool whole_tables = false;    ///< with whole names, and as many rows where a recording has no steps
};

[[nodiscard]] Report build_analysis_report(const Analysis& analysis, const AnalysisReportOptions& options = {});

}  // namespace warpmark::report
