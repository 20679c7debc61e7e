// Copies, communication and ranks.
#include <algorithm>
#include <limits>
#include <map>

#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

struct Copies {
  double count = 0, bytes = 0, ns = 0;
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
};

}  // namespace

AnalysisTable copy_table(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  AnalysisTable table{"copies",
                      "Bandwidth of copies and memsets",
                      "Per step of the critical rank; works of no measurable duration count no rate.",
                      {{"kind", "Kind", ""},
                       {"count", "Per step", ""},
                       {"bytes", "Bytes per step", "B"},
                       {"mean", "Mean rate", "B/s"},
                       {"slowest", "Slowest", "B/s"},
                       {"fastest", "Fastest", "B/s"}},
                      {}};
  std::map<std::string, Copies> kinds;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work) || !(is_copy(work.category) || work.category == Category::memset)) continue;
    Copies& one = kinds[std::string(rank.timeline->name_of(work.event))];
    const auto bytes = static_cast<double>(rank.timeline->events.value[work.event]);
    const auto ns = static_cast<double>(work.end - work.start);
    one.count += 1;
    one.bytes += bytes;
    one.ns += ns;
    if (ns <= 0 || bytes <= 0) continue;
    one.slowest = std::min(one.slowest, bytes / (ns * 1e-9));
    one.fastest = std::max(one.fastest, bytes / (ns * 1e-9));
  }
  for (const auto& [name, one] : kinds) {
    table.rows.push_back({name, one.count / rank.step_count(), one.bytes / rank.step_count(),
                          one.ns > 0 ? one.bytes / (one.ns * 1e-9) : 0.0, one.fastest > 0 ? one.slowest : 0.0,
                          one.fastest});
  }
  if (table.rows.empty()) table.note = "No copies in the analyzed steps.";
  return table;
}

AnalysisTable overlap_table(const Evidence& evidence) {
  AnalysisTable table{"overlap",
                      "Communication hidden behind computation",
                      "Overlap: length of the intersection of the two unions, over the length of the communication's.",
                      {{"rank", "Rank", ""},
                       {"communication", "Communication", "s"},
                       {"overlapped", "Of it overlapped", "s"},
                       {"share", "Overlap", "ratio"}},
                      {}};
  for (const RankEvidence& rank : evidence.ranks) {
    const auto clipped = [&rank](auto wanted) {
      std::vector<Interval> intervals;
      for (const GpuWork& work : rank.list.works) {
        const Interval one{std::max(work.start, rank.steps.start()), std::min(work.end, rank.steps.end())};
        if (wanted(work.category) && one.end > one.start) intervals.push_back(one);
      }
      return united(std::move(intervals));
    };
    const auto communication = clipped([](Category category) { return category == Category::communication; });
    const auto compute = clipped([](Category category) { return is_compute(category); });
    const auto all = static_cast<double>(total_length(communication));
    if (all <= 0) continue;
    const auto hidden = static_cast<double>(overlap_length(communication, compute));
    table.rows.push_back({static_cast<std::int64_t>(rank.number()), all * 1e-9, hidden * 1e-9, hidden / all});
  }
  if (table.rows.empty()) table.note = "No communication in the analyzed steps.";
  return table;
}

AnalysisTable rank_table(const Evidence& evidence) {
  AnalysisTable table{
      "ranks",
      "Ranks",
      "Own work: all but communication, waiting, recording, and the loading and dispatch that all hosts do. The "
      "straggler is the rank with the most own work; clocks are aligned by the ends of collectives.",
      {{"rank", "Rank", ""},
       {"host", "Host", ""},
       {"step", "Step", "s"},
       {"compute", "Computing", "s"},
       {"own_work", "Own work", "s"},
       {"communication", "Exposed communication", "s"},
       {"waiting", "Waiting for ranks", "s"},
       {"idle", "Other idle", "s"},
       {"clock_offset", "Clock offset to the first", "s"},
       {"matched", "Collectives matched", ""}},
      {}};
  const Imbalance& imbalance = evidence.attribution.imbalance;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    const double own_work = imbalance.own_ns.empty() ? rank.own_work_ns() : imbalance.own_ns[r];
    const double waiting = rank.part_ns(Part::idle_waiting_for_rank);
    table.rows.push_back({static_cast<std::int64_t>(rank.number()), rank.timeline->host, rank.step_ns() * 1e-9,
                          rank.group_ns("compute") * 1e-9, own_work * 1e-9, rank.group_ns("communication") * 1e-9,
                          waiting * 1e-9, (rank.group_ns("idle") - waiting) * 1e-9,
                          static_cast<double>(rank.alignment.clock_offset_ns) * 1e-9, rank.alignment.matched});
  }
  return table;
}

}  // namespace warpmark::analyze
