// Time by the ranges that the program names (NVTX, record_function), nested, and by the phases of a training step,
// which PyTorch's own ranges tell apart without any of the user's.
//
// A piece of GPU work belongs to the ranges open on the thread that launched it; where that thread has none open, as
// PyTorch's thread of the backward pass, to those of the thread with the most ranges at that moment. The idle time
// before a piece of work belongs where the work does.
#include <algorithm>
#include <array>
#include <map>

#include "analyze/names/ranges.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

struct RangeUse {
  double calls = 0;
  double host_ns = 0;
  double gpu_ns = 0;
  double idle_ns = 0;
  double launches = 0;
};

/// "step 12" and "step 13" are one range.
std::string without_numbers(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) plain += c;
    if (digit && (plain.empty() || plain.back() != '#')) plain += '#';
  }
  return plain;
}

class RangeTree {
 public:
  explicit RangeTree(const RankEvidence& rank) : rank_(rank), timeline_(*rank.timeline) {
    path_.resize(timeline_.events.size(), kNone);
    std::map<std::uint32_t, std::size_t> ranges;
    for (EventIndex i = 0; i < timeline_.events.size(); ++i) {
      if (!counts(i)) continue;
      path_[i] = path_of(i);
      if (timeline_.events.duration[i] > 0 && in_steps(i)) ++ranges[timeline_.events.track[i]];
    }
    std::size_t most = 0;
    for (const auto& [track, count] : ranges) {
      if (count > most) most = count, main_ = track;
    }
    for (EventIndex i = 0; i < timeline_.events.size() && most > 0; ++i) {
      if (!counts(i) || !in_steps(i)) continue;
      RangeUse& use = uses_[path_[i]];
      use.calls += 1;
      use.host_ns += static_cast<double>(timeline_.events.duration[i]);
      if (timeline_.events.track[i] == main_) of_main_.push_back(i);
    }
  }

  void add_works() {
    std::int64_t busy_until = rank_.steps.start();
    for (const GpuWork& work : rank_.list.works) {
      if (!rank_.in_steps(work)) continue;
      const std::int64_t idle = std::max<std::int64_t>(0, work.start - busy_until);
      busy_until = std::max(busy_until, work.end);
      for (std::size_t path = path_of(work); path != kNone; path = paths_[path].parent) {
        RangeUse& use = uses_[path];
        use.gpu_ns += static_cast<double>(work.end - work.start);
        use.idle_ns += static_cast<double>(idle);
        use.launches += 1;
      }
    }
  }

  void fill(AnalysisTable& table, std::size_t rows) const { fill(kNone, 0, rows, table); }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Path {
    std::size_t parent = kNone;
    std::string name;
  };

  /// Ranges of profilers around whole steps say nothing of what is in them.
  [[nodiscard]] bool counts(EventIndex i) const {
    if (timeline_.events.kind[i] != EventKind::annotation) return false;
    const std::string_view name = timeline_.name_of(i);
    return !name.empty() && !names_profiled_step(name) && !names_profiler_step(name);
  }
  [[nodiscard]] bool in_steps(EventIndex i) const {
    const std::int64_t start = timeline_.events.start[i];
    return start >= rank_.steps.start() && start < rank_.steps.end();
  }

  /// Parents come before their children.
  std::size_t path_of(EventIndex range) {
    EventIndex around = rank_.list.parent[range];
    while (around != kNoEvent && path_[around] == kNone) around = rank_.list.parent[around];
    const std::size_t parent = around == kNoEvent ? kNone : path_[around];
    const std::string name = without_numbers(timeline_.name_of(range));
    const auto [known, is_new] = ids_.try_emplace({parent, name}, paths_.size());
    if (is_new) paths_.push_back({parent, name});
    return known->second;
  }

  [[nodiscard]] std::size_t path_of(const GpuWork& work) const {
    if (work.launch == kNoEvent) return kNone;
    for (EventIndex at = work.launch; at != kNoEvent; at = rank_.list.parent[at]) {
      if (path_[at] != kNone) return path_[at];
    }
    return path_at(timeline_.events.start[work.launch]);
  }

  /// Innermost range of the thread with the most that is open then.
  [[nodiscard]] std::size_t path_at(std::int64_t time) const {
    const EventColumns& events = timeline_.events;
    auto at =
        std::partition_point(of_main_.begin(), of_main_.end(), [&](EventIndex i) { return events.start[i] <= time; });
    if (at == of_main_.begin()) return kNone;
    for (EventIndex i = *std::prev(at); i != kNoEvent; i = rank_.list.parent[i]) {
      if (path_[i] != kNone && events.end(i) > time) return path_[i];
    }
    return kNone;
  }

  void fill(std::size_t parent, std::size_t depth, std::size_t rows, AnalysisTable& table) const {
    std::vector<std::size_t> children;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].parent == parent && uses_.contains(i)) children.push_back(i);
    }
    std::stable_sort(children.begin(), children.end(),
                     [this](std::size_t a, std::size_t b) { return uses_.at(a).host_ns > uses_.at(b).host_ns; });
    const double steps = rank_.step_count();
    for (const std::size_t child : children) {
      if (table.rows.size() == rows) return;
      const RangeUse& use = uses_.at(child);
      table.rows.push_back({std::string(2 * depth, ' ') + paths_[child].name, static_cast<std::int64_t>(depth),
                            use.calls / steps, use.host_ns * 1e-9 / steps, use.gpu_ns * 1e-9 / steps,
                            use.idle_ns * 1e-9 / steps, use.launches / steps, use.host_ns / steps / rank_.step_ns()});
      fill(child, depth + 1, rows, table);
    }
  }

  const RankEvidence& rank_;
  const Timeline& timeline_;
  std::vector<std::size_t> path_;  ///< per event; kNone of what is no range
  std::vector<Path> paths_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> ids_;
  std::map<std::size_t, RangeUse> uses_;
  std::vector<EventIndex> of_main_;
  std::uint32_t main_ = 0;
};

enum class Phase : std::uint8_t { data, forward, backward, all_reduce, optimizer, count };

class Phases {
 public:
  explicit Phases(const RankEvidence& rank)
      : rank_(rank),
        backward_(rank.timeline->names, names_backward_pass),
        loading_(rank.timeline->names, names_data_loading) {}

  [[nodiscard]] Phase of(const GpuWork& work) const {
    if (work.category == Category::communication) return Phase::all_reduce;
    if (work.updates_parameters()) return Phase::optimizer;
    const auto around = [&](const NameSet& names) {
      return any_around(rank_.list, work.launch,
                        [&](EventIndex i) { return names.contains(rank_.timeline->events.name[i]); });
    };
    if (around(backward_)) return Phase::backward;
    return work.category == Category::copy_to_device || around(loading_) ? Phase::data : Phase::forward;
  }

 private:
  const RankEvidence& rank_;
  NameSet backward_, loading_;
};

/// Idle time in which the host loads data is of that phase, whatever work ends it.
template <typename Uses>
void give_loading_to_data(const RankEvidence& rank, const Phases& phases, Uses& uses) {
  for (const IdlePiece& piece : rank.breakdown.loading) {
    if (piece.next_work == kNoEvent) continue;
    const std::int64_t start = rank.timeline->events.start[piece.next_work];
    auto next = std::ranges::lower_bound(rank.list.works, start, {}, &GpuWork::start);
    while (next != rank.list.works.end() && next->start == start && next->event != piece.next_work) ++next;
    if (next == rank.list.works.end()) continue;
    const auto ns = static_cast<double>(piece.end - piece.start);
    uses[static_cast<std::size_t>(phases.of(*next))].idle_ns -= ns;
    uses[static_cast<std::size_t>(Phase::data)].idle_ns += ns;
  }
}

}  // namespace

AnalysisTable range_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"ranges",
                      "Ranges that the program names",
                      "Per step of the critical rank, with what is nested in them; GPU time is that of the works "
                      "launched in a range, idle what the GPU was before them.",
                      {{"name", "Range", ""},
                       {"depth", "Depth", ""},
                       {"calls", "Calls per step", ""},
                       {"host_time", "Host time per step", "s"},
                       {"gpu_time", "GPU time per step", "s"},
                       {"gpu_idle", "GPU idle per step", "s"},
                       {"launches", "Launches per step", ""},
                       {"share", "Host time of the step", "ratio"}},
                      {}};
  RangeTree tree(evidence.rank());
  tree.add_works();
  tree.fill(table, rows);
  if (table.rows.empty()) table.note = "The program named no ranges (NVTX, torch.profiler.record_function).";
  return table;
}

AnalysisTable phase_table(const Evidence& evidence) {
  AnalysisTable table{"phases",
                      "Phases of a training step",
                      "Per step of the critical rank, by what launched the work; the rows sum to the step. Where works "
                      "overlap, the earlier one counts.",
                      {{"phase", "Phase", ""},
                       {"gpu_time", "GPU time per step", "s"},
                       {"gpu_idle", "GPU idle per step", "s"},
                       {"launches", "Launches per step", ""},
                       {"share", "Of the step", "ratio"}},
                      {}};
  const RankEvidence& rank = evidence.rank();
  if (!has_backward_pass(*rank.timeline, rank.list) || rank.list.with_op == 0) {
    table.note = "The recording has no phases: it has no backward pass, or no operators.";
    return table;
  }
  constexpr auto kPhases = static_cast<std::size_t>(Phase::count);
  constexpr std::array<const char*, kPhases> kNames = {"data", "forward", "backward", "all-reduce", "optimizer"};
  const Phases phases(rank);
  std::array<RangeUse, kPhases> uses{};
  std::int64_t busy_until = rank.steps.start();
  const std::int64_t end = rank.steps.end();
  for (const GpuWork& work : rank.list.works) {
    if (work.start < rank.steps.start()) continue;
    RangeUse& use = uses[static_cast<std::size_t>(phases.of(work))];
    use.idle_ns += static_cast<double>(std::max<std::int64_t>(0, std::min(work.start, end) - busy_until));
    if (work.start >= end) break;
    use.gpu_ns +=
        static_cast<double>(std::max<std::int64_t>(0, std::min(work.end, end) - std::max(work.start, busy_until)));
    use.launches += 1;
    busy_until = std::max(busy_until, std::min(work.end, end));
  }
  give_loading_to_data(rank, phases, uses);
  const double all = std::max(1.0, static_cast<double>(rank.steps.length()));
  const double steps = rank.step_count();
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (uses[i].launches == 0 && uses[i].idle_ns <= 0) continue;
    table.rows.push_back({std::string(kNames[i]), uses[i].gpu_ns * 1e-9 / steps, uses[i].idle_ns * 1e-9 / steps,
                          uses[i].launches / steps, (uses[i].gpu_ns + uses[i].idle_ns) / all});
  }
  return table;
}

}  // namespace warpmark::analyze
