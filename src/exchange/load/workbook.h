// An experiment as a workbook of a spreadsheet program (.xlsx, by libxlsxwriter) with the sheets that genai-bench makes
// (Summary, Appendix, Experiment Metadata, Aggregated Metrics for Each Run, Individual Request Metrics), and charts,
// which it does not make.
#pragma once

#include <string>

#include "base/result.h"
#include "exchange/load/experiment.h"

namespace warpmark::exchange {

struct WorkbookOptions {
  std::string percentile = "mean";  ///< mean, p25, p50, p75, p90, p95, p99: of the Appendix and the charts
  std::string time_unit = "s";      ///< or "ms"
};

/// Usage error for another percentile or unit; environment error where the file cannot be written.
[[nodiscard]] Status write_workbook(const std::string& path, const Experiment& experiment,
                                    const WorkbookOptions& options);

/// What the Summary sheet says of a scenario: the highest load at which an answer is still faster than
/// `least_speed` tokens/s; loads beyond which neither tokens nor requests grow by 5 % are not looked at.
struct UsableLevel {
  std::string scenario;
  std::optional<std::int64_t> level;  ///< nothing: no load was fast enough
  double tokens_per_minute = 0;
};
[[nodiscard]] std::vector<UsableLevel> usable_levels(const Experiment& experiment, const std::string& percentile);

}  // namespace warpmark::exchange
