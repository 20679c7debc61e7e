#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

std::vector<AnalysisTable> timeline_tables(const Evidence& evidence, std::size_t rows) {
  if (!evidence.has_timeline()) return {};
  return {
      rank_table(evidence),        kernel_table(evidence, rows), operator_table(evidence, rows),
      launch_table(evidence),      queue_table(evidence),        copy_table(evidence),
      idle_table(evidence),        overlap_table(evidence),      collective_table(evidence, rows),
      range_table(evidence, rows), phase_table(evidence),        critical_path_table(evidence),
  };
}

}  // namespace

std::vector<AnalysisTable> all_tables(const Evidence& evidence, std::size_t rows) {
  std::vector<AnalysisTable> tables = timeline_tables(evidence, rows);
  if (!evidence.session->collectives.empty()) tables.push_back(collective_benchmark_table(evidence));
  if (!evidence.session->kernels.empty()) tables.push_back(kernel_card_table(evidence, rows));
  return tables;
}

}  // namespace warpmark::analyze
