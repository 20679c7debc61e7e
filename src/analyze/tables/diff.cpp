// What changed between two profiles, per step of their critical ranks: by kernel, by operator, and by part of the
// breakdown.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyze/analyze.h"
#include "analyze/evidence.h"

namespace warpmark::analyze {

namespace {

struct Use {
  double calls = 0;
  double seconds = 0;
};

std::map<std::string, Use> uses_of(const Evidence& evidence, bool operators) {
  std::map<std::string, Use> uses;
  if (!evidence.has_timeline()) return uses;
  const RankEvidence& rank = evidence.rank();
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work) || (operators && work.op == kNoEvent)) continue;
    Use& use = uses[std::string(rank.timeline->name_of(operators ? work.op : work.event))];
    use.calls += 1 / rank.step_count();
    use.seconds += static_cast<double>(work.end - work.start) * 1e-9 / rank.step_count();
  }
  return uses;
}

AnalysisTable compare(const char* id, const char* title, const std::map<std::string, Use>& before,
                      const std::map<std::string, Use>& after, std::size_t rows) {
  AnalysisTable table{id,
                      title,
                      "Per step; the largest change of time first. Appeared and vanished: in one of the two only.",
                      {{"name", "Name", ""},
                       {"change", "Change", ""},
                       {"calls_before", "Calls before", ""},
                       {"calls_after", "Calls after", ""},
                       {"time_before", "Time before", "s"},
                       {"time_after", "Time after", "s"},
                       {"difference", "Difference", "s"}},
                      {}};
  struct Row {
    std::string name;
    Use before, after;
  };
  std::map<std::string, Row> joined;
  for (const auto& [name, use] : before) joined[name].before = use;
  for (const auto& [name, use] : after) joined[name].after = use;
  std::vector<Row> list;
  for (auto& [name, row] : joined) row.name = name, list.push_back(std::move(row));
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    return std::abs(a.after.seconds - a.before.seconds) > std::abs(b.after.seconds - b.before.seconds);
  });
  for (const Row& row : list) {
    if (table.rows.size() == rows) break;
    const double difference = row.after.seconds - row.before.seconds;
    const char* change = row.before.calls == 0  ? "appeared"
                         : row.after.calls == 0 ? "vanished"
                         : difference > 0       ? "slower"
                         : difference < 0       ? "faster"
                                                : "same";
    table.rows.push_back({row.name, std::string(change), row.before.calls, row.after.calls, row.before.seconds,
                          row.after.seconds, difference});
  }
  if (table.rows.empty()) table.note = "Neither profile has any.";
  return table;
}

std::map<std::string, Use> parts_of(const Evidence& evidence) {
  std::map<std::string, Use> uses;
  if (!evidence.has_timeline()) return uses;
  const RankEvidence& rank = evidence.rank();
  for (std::size_t i = 0; i < kParts; ++i) {
    if (rank.breakdown.ns[i] == 0) continue;
    const auto part = static_cast<Part>(i);
    uses[part_id(part)] = {static_cast<double>(rank.breakdown.pieces[i]) / rank.step_count(),
                           rank.part_ns(part) * 1e-9};
  }
  return uses;
}

}  // namespace

std::vector<AnalysisTable> diff(const ProfileSession& before, const ProfileSession& after,
                                const AnalyzeOptions& options) {
  const Evidence first = gather_evidence(before);
  const Evidence second = gather_evidence(after);
  return {
      compare("diff_breakdown", "Breakdown, before and after", parts_of(first), parts_of(second), options.table_rows),
      compare("diff_operators", "Operators, before and after", uses_of(first, true), uses_of(second, true),
              options.table_rows),
      compare("diff_kernels", "Kernels, before and after", uses_of(first, false), uses_of(second, false),
              options.table_rows),
  };
}

}  // namespace warpmark::analyze
