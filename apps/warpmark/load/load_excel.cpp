// `warpmark load excel`: an experiment folder as a workbook.
#include <filesystem>
#include <ostream>

#include "exchange/load/workbook.h"
#include "warpmark/load/load.h"
#include "warpmark/sessions/session_output.h"

namespace warpmark::apps {

Result<int> load_excel(Context& context, const ParsedOptions& options) {
  const std::string folder = options.get("--experiment-folder", options.get("--experiments-folder"));
  if (folder.empty())
    return usage_error("which experiment? --experiment-folder DIR", "as --experiment-folder-name made it");
  WM_ASSIGN(const auto experiment, exchange::read_experiment(folder));
  std::string file = options.get("--excel-name");
  if (file.empty()) {
    const auto name = std::filesystem::path(std::filesystem::weakly_canonical(folder)).filename().string();
    file = (std::filesystem::path(folder) / (name + "_summary.xlsx")).string();
  }
  if (!file.ends_with(".xlsx")) file += ".xlsx";
  WM_TRY(check_writable(file));
  WM_TRY(exchange::write_workbook(file, experiment,
                                  {.percentile = options.get("--metric-percentile", "mean"),
                                   .time_unit = options.get("--metrics-time-unit", "s")}));
  context.out << file << '\n';
  return kSuccess;
}

}  // namespace warpmark::apps
