// The memory of GPUs over time: memory_curves.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analyze/recorded/memory_curves.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

constexpr std::size_t kCurvePoints = 240;  // that a plot has room for

double seconds(const MemoryCurve& curve, std::int64_t time) { return static_cast<double>(time - curve.origin) * 1e-9; }

TableValue known(const std::optional<double>& value) { return value ? TableValue(*value) : TableValue(std::string()); }

/// The most of each of `kCurvePoints` equal spans of time: peaks must survive.
struct CurvePoint {
  double allocated = 0;
  double reserved = 0;
};
std::map<std::size_t, CurvePoint> thinned(const MemoryCurve& curve) {
  std::map<std::size_t, CurvePoint> points;
  const double span = std::max(1.0, static_cast<double>(curve.times.back() - curve.times.front()));
  for (std::size_t i = 0; i < curve.times.size(); ++i) {
    const double at = static_cast<double>(curve.times[i] - curve.times.front()) / span;
    CurvePoint& point = points[static_cast<std::size_t>(at * (kCurvePoints - 1))];
    point.allocated = std::max(point.allocated, curve.allocated[i]);
    if (!curve.reserved.empty()) point.reserved = std::max(point.reserved, curve.reserved[i]);
  }
  return points;
}

struct OperatorMemory {
  double allocations = 0;
  double allocated = 0;
  double freed = 0;
};

/// By the innermost operator around each allocation, in the analyzed steps.
std::map<std::string_view, OperatorMemory> memory_by_operator(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const EventColumns& events = timeline.events;
  std::map<std::string_view, OperatorMemory> uses;
  std::vector<std::vector<EventIndex>> open(timeline.tracks.size());
  for (EventIndex i = 0; i < events.size(); ++i) {
    std::vector<EventIndex>& stack = open[events.track[i]];
    if (events.kind[i] != EventKind::op && events.kind[i] != EventKind::allocation) continue;
    while (!stack.empty() && events.end(stack.back()) <= events.start[i]) stack.pop_back();
    if (events.kind[i] == EventKind::op) {
      stack.push_back(i);
    } else if (is_gpu_allocation(timeline, i) && events.start[i] >= rank.steps.start() &&
               events.start[i] < rank.steps.end()) {
      OperatorMemory& use =
          uses[stack.empty() ? std::string_view("outside operators") : timeline.name_of(stack.back())];
      const auto bytes = static_cast<double>(events.value[i]);
      use.allocations += bytes > 0 ? 1 : 0;
      (bytes > 0 ? use.allocated : use.freed) += std::fabs(bytes);
    }
  }
  return uses;
}

}  // namespace

AnalysisTable memory_table(const Evidence& evidence) {
  AnalysisTable table{
      "gpu_memory",
      "GPU memory",
      "Peak: the most that tensors held, and when after the first work on the GPU. Unused: the most that "
      "was reserved and not allocated, cached or too scattered to be used. Without reserved memory the "
      "sum of recorded allocations, which begins at 0.",
      {{"rank", "Rank", ""},
       {"gpu", "GPU", ""},
       {"begin", "At first", "B"},
       {"peak", "Peak", "B"},
       {"peak_at", "At", "s"},
       {"reserved", "Reserved", "B"},
       {"unused", "Unused", "B"},
       {"share", "Of the GPU's", "ratio"}},
      {}};
  for (const RankEvidence& rank : evidence.ranks) {
    for (const MemoryCurve& curve : memory_curves_of(*rank.timeline, rank.list)) {
      const auto peak = std::ranges::max_element(curve.allocated);
      const auto at = static_cast<std::size_t>(peak - curve.allocated.begin());
      const auto reserved =
          curve.reserved.empty() ? std::nullopt : std::optional(*std::ranges::max_element(curve.reserved));
      const auto share = curve.capacity > 0 ? std::optional(reserved.value_or(*peak) / curve.capacity) : std::nullopt;
      table.rows.push_back({static_cast<std::int64_t>(rank.number()), static_cast<std::int64_t>(curve.device),
                            curve.allocated.front(), *peak, seconds(curve, curve.times[at]), known(reserved),
                            known(most_unused(curve)), known(share)});
    }
  }
  return table;
}

AnalysisTable memory_curve_table(const Evidence& evidence) {
  AnalysisTable table{kMemoryCurveTable,
                      "GPU memory over time",
                      "Of the critical rank; the most of each span of time, counted from its first work on the GPU.",
                      {{"time", "Time", "s"}, {"allocated", "Allocated", "B"}, {"reserved", "Reserved", "B"}},
                      {}};
  const auto curves = memory_curves_of(*evidence.rank().timeline, evidence.rank().list);
  if (curves.empty()) return table;
  const MemoryCurve& curve = curves.front();
  const double first = seconds(curve, curve.times.front());
  const double span = seconds(curve, curve.times.back()) - first;
  for (const auto& [place, point] : thinned(curve)) {
    const auto reserved = curve.reserved.empty() ? std::nullopt : std::optional(point.reserved);
    table.rows.push_back(
        {first + span * static_cast<double>(place) / (kCurvePoints - 1), point.allocated, known(reserved)});
  }
  return table;
}

AnalysisTable operator_memory_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"operator_memory",
                      "GPU memory that operators allocate",
                      "Innermost operator around each allocation, per step of the critical rank. What is kept is freed "
                      "by others, or later.",
                      {{"name", "Operator", ""},
                       {"allocations", "Allocations per step", ""},
                       {"allocated", "Allocated per step", "B"},
                       {"freed", "Freed per step", "B"},
                       {"kept", "Kept per step", "B"}},
                      {}};
  const RankEvidence& rank = evidence.rank();
  const auto uses = memory_by_operator(rank);
  std::vector<std::pair<std::string_view, OperatorMemory>> sorted(uses.begin(), uses.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return a.second.allocated + a.second.freed > b.second.allocated + b.second.freed;
  });
  const double steps = rank.step_count();
  for (const auto& [name, use] : sorted) {
    if (table.rows.size() == rows) break;
    table.rows.push_back({std::string(name), use.allocations / steps, use.allocated / steps, use.freed / steps,
                          (use.allocated - use.freed) / steps});
  }
  return table;
}

}  // namespace warpmark::analyze
