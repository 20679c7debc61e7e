#include "analyze/replay/critical_path.h"

#include <algorithm>

#include "analyze/tables/tables.h"

namespace warpmark::analyze {

AnalysisTable critical_path_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{"critical_path",
                      "Critical path of a step",
                      "What the length of a step is made of, mean of the critical rank: each nanosecond belongs to the "
                      "work or the host activity that had to end before what followed could begin. Work off the path "
                      "is not in it. Recording costs are.",
                      {{"part", "Part", ""}, {"time", "Time per step", "s"}, {"share", "Of the step", "ratio"}},
                      {}};
  const PathTimes times =
      critical_path({*rank.timeline, rank.list, rank.steps, *rank.host, rank.alignment, rank.replay});
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (const auto& [key, ns] : times) {
    const std::string name = key.second == 0 ? "" : ": " + std::string(rank.timeline->names.at(key.second));
    rows.emplace_back(part_id(key.first) + name, ns);
  }
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second; });
  const auto length = static_cast<double>(rank.steps.length());
  for (const auto& [name, ns] : rows) {
    table.rows.push_back({name, static_cast<double>(ns) / rank.step_count() * 1e-9, static_cast<double>(ns) / length});
  }
  return table;
}

}  // namespace warpmark::analyze
