#include "analyze/tables/tables.h"

namespace warpmark::analyze {

std::vector<AnalysisTable> all_tables(const Evidence& evidence, const AnalyzeOptions& options) {
  if (!evidence.has_timeline()) return {};
  return {
      rank_table(evidence),
      kernel_table(evidence, options.table_rows),
      operator_table(evidence, options.table_rows),
      launch_table(evidence),
      queue_table(evidence),
      copy_table(evidence),
      idle_table(evidence),
      overlap_table(evidence),
      critical_path_table(evidence),
  };
}

}  // namespace warpmark::analyze
