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

/// Allocations are recorded on demand only: without them there is nothing to say.
void add_memory_tables(const Evidence& evidence, std::size_t rows, std::vector<AnalysisTable>& tables) {
  if (!evidence.has_timeline()) return;
  for (auto& table : {memory_table(evidence), memory_curve_table(evidence), operator_memory_table(evidence, rows)}) {
    if (!table.rows.empty()) tables.push_back(table);
  }
}

}  // namespace

std::vector<AnalysisTable> all_tables(const Evidence& evidence, std::size_t rows) {
  std::vector<AnalysisTable> tables = timeline_tables(evidence, rows);
  add_memory_tables(evidence, rows, tables);
  if (!evidence.session->collectives.empty()) tables.push_back(collective_benchmark_table(evidence));
  if (!evidence.session->kernels.empty()) {
    tables.push_back(kernel_card_table(evidence, rows));
    for (auto& table : {kernel_rule_table(evidence, rows), kernel_roofline_table(evidence, rows)}) {
      if (!table.rows.empty()) tables.push_back(table);
    }
  }
  return tables;
}

}  // namespace warpmark::analyze
