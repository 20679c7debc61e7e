// Kernels and operators of the critical rank, per step.
#include <algorithm>
#include <unordered_map>

#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

struct WorkUse {
  Category category = Category::other;
  double calls = 0;
  double total_ns = 0;
  double longest_ns = 0;
};

std::vector<std::pair<NameId, WorkUse>> by_time(const std::unordered_map<NameId, WorkUse>& uses) {
  std::vector<std::pair<NameId, WorkUse>> sorted(uses.begin(), uses.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns != b.second.total_ns ? a.second.total_ns > b.second.total_ns : a.first < b.first;
  });
  return sorted;
}

}  // namespace

AnalysisTable kernel_table(const Evidence& evidence, std::size_t rows) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{
      "kernels",
      "Kernels, copies and memsets",
      "Per step of the critical rank; works of several streams may overlap, so shares need not sum to 1.",
      {{"name", "Name", ""},
       {"category", "Category", ""},
       {"calls", "Calls per step", ""},
       {"time", "Time per step", "s"},
       {"mean", "Mean", "s"},
       {"longest", "Longest", "s"},
       {"share", "Of the step", "ratio"}},
      {}};
  std::unordered_map<NameId, WorkUse> uses;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work)) continue;
    WorkUse& use = uses[rank.timeline->events.name[work.event]];
    const auto ns = static_cast<double>(work.end - work.start);
    use.category = work.category;
    use.calls += 1;
    use.total_ns += ns;
    use.longest_ns = std::max(use.longest_ns, ns);
  }
  for (const auto& [name, use] : by_time(uses)) {
    if (table.rows.size() == rows) break;
    table.rows.push_back({std::string(rank.timeline->names.at(name)), std::string(category_id(use.category)),
                          use.calls / rank.step_count(), use.total_ns * 1e-9 / rank.step_count(),
                          use.total_ns * 1e-9 / use.calls, use.longest_ns * 1e-9,
                          use.total_ns / static_cast<double>(rank.steps.length())});
  }
  return table;
}

AnalysisTable operator_table(const Evidence& evidence, std::size_t rows) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{"operators",
                      "Operators by the GPU time they launch",
                      "Innermost operator around each launch, per step of the critical rank.",
                      {{"name", "Operator", ""},
                       {"works", "Works launched per step", ""},
                       {"gpu_time", "GPU time per step", "s"},
                       {"share", "Of the step", "ratio"}},
                      {}};
  if (rank.list.with_op == 0) {
    table.note = "No operators were recorded (or nothing joins them to their kernels).";
    return table;
  }
  std::unordered_map<NameId, WorkUse> uses;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work)) continue;
    WorkUse& use = uses[work.op == kNoEvent ? 0 : rank.timeline->events.name[work.op]];
    use.calls += 1;
    use.total_ns += static_cast<double>(work.end - work.start);
  }
  for (const auto& [name, use] : by_time(uses)) {
    if (table.rows.size() == rows) break;
    table.rows.push_back(
        {name == 0 ? std::string("(outside of operators)") : std::string(rank.timeline->names.at(name)),
         use.calls / rank.step_count(), use.total_ns * 1e-9 / rank.step_count(),
         use.total_ns / static_cast<double>(rank.steps.length())});
  }
  return table;
}

}  // namespace warpmark::analyze
