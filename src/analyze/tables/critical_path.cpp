// The path that sets the length of a step: over the GPU while it works, over the host while it idles. Read from the
// breakdown, with what the host did by name.
#include <algorithm>

#include "analyze/tables/tables.h"

namespace warpmark::analyze {

AnalysisTable critical_path_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{"critical_path",
                      "Critical path of a step",
                      "What the length of a step is made of, mean of the critical rank: each nanosecond belongs to the "
                      "GPU's work, or to what kept the GPU idle. Shares are of the step without recording.",
                      {{"part", "Part", ""}, {"time", "Time per step", "s"}, {"share", "Of the step", "ratio"}},
                      {}};
  struct Row {
    std::string name;
    double ns;  ///< a step
    double share;
  };
  std::vector<Row> rows;
  for (const BreakdownPart& part : breakdown_parts(rank.breakdown)) {
    double named = 0;
    const auto ns = static_cast<double>(part.total_ns);
    for (const auto& [key, of_name] : rank.breakdown.host_names) {
      if (part.id != part_id(key.first) || key.second == 0) continue;
      const double share = static_cast<double>(of_name) / ns;
      named += share;
      rows.push_back({part.id + ": " + std::string(rank.timeline->names.at(key.second)), share * ns / rank.step_count(),
                      share * part.share});
    }
    if (named < 1) rows.push_back({part.id, (1 - named) * ns / rank.step_count(), (1 - named) * part.share});
  }
  std::ranges::stable_sort(rows, std::greater(), &Row::ns);
  for (const Row& row : rows) table.rows.push_back({row.name, row.ns * 1e-9, row.share});
  return table;
}

}  // namespace warpmark::analyze
