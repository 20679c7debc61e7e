#include "analyze/cures/recurrent_cells.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyze/cures/fitted.h"
#include "analyze/names/operators.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

constexpr int kFewestCells = 16;          // in a row
constexpr std::size_t kMostBetween = 24;  // launches between two: products of the backward pass, gradients added up

/// Cells in a row: their works and what is launched between them, in launch order.
struct Run {
  std::size_t first = 0, last = 0;  ///< indices into Replay::works
  int cells = 0;
  CellRole kind = CellRole::other;
};

class Runs {
 public:
  explicit Runs(const RankEvidence& rank) : rank_(rank), kinds_(told_by_names(rank.timeline->names, cell_role)) {
    if (std::ranges::find(kinds_, CellRole::forward) != kinds_.end()) find();
  }

  [[nodiscard]] std::vector<Run> take() { return std::move(found_); }

 private:
  struct Cell {
    CellRole kind = CellRole::other;
    EventIndex op = kNoEvent;
  };

  /// Steps follow one another, whatever is at the end of one and at the beginning of the next.
  [[nodiscard]] std::ptrdiff_t step_of(const ReplayWork& one) const {
    const std::vector<StepSpan>& steps = rank_.steps.analyzed;
    return std::ranges::upper_bound(steps, rank_.list.works[one.work].start, {}, &StepSpan::start_ns) - steps.begin();
  }

  /// The cell that a work belongs to, or what it breaks.
  [[nodiscard]] Cell cell_of(const ReplayWork& one) const {
    CellRole own = CellRole::other;
    for (EventIndex at = rank_.list.works[one.work].op; at != kNoEvent; at = rank_.list.parent[at]) {
      const CellRole kind = kinds_[rank_.timeline->events.name[at]];
      if (kind == CellRole::forward || kind == CellRole::backward) return {kind, at};
      if (kind == CellRole::breaks) own = kind;
    }
    return {own, kNoEvent};
  }

  void find() {
    Run run;
    EventIndex last_op = kNoEvent;
    std::ptrdiff_t step = 0;
    const std::vector<ReplayWork>& works = rank_.replay.works();
    for (std::size_t i = 0; i < works.size(); ++i) {
      const Cell cell = cell_of(works[i]);
      const bool ends = cell.kind == CellRole::breaks || i > run.last + kMostBetween ||
                        (cell.op != kNoEvent && (cell.kind != run.kind || step_of(works[i]) != step));
      if (run.cells > 0 && ends) finish(run);
      if (cell.op == kNoEvent) continue;
      if (run.cells == 0) {
        run = {i, i, 0, cell.kind};
        step = step_of(works[i]);
      }
      run.cells += cell.op != last_op;
      run.last = i;
      last_op = cell.op;
    }
    finish(run);
  }

  void finish(Run& run) {
    if (run.cells >= kFewestCells) found_.push_back(run);
    run.cells = 0;
  }

  const RankEvidence& rank_;
  std::vector<CellRole> kinds_;  // by name
  std::vector<Run> found_;
};

}  // namespace

double cells_in_a_loop(const RankEvidence& rank) {
  double cells = 0;
  for (const Run& run : Runs(rank).take()) cells += run.kind == CellRole::forward ? run.cells : 0;
  return cells / std::max(1, rank.replay.steps());
}

void run_cells_at_once(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    for (const Run& run : Runs(rank).take()) {
      for (std::size_t i = run.first; i <= run.last; ++i) {
        const std::size_t work = rank.replay.works()[i].work;
        change.ranks[r].duration_scale[work] *= static_cast<float>(scaled(kKernelTimeLeftOfCells, success));
        change.ranks[r].dispatch_scale[work] *= static_cast<float>(scaled(kDispatchLeftOfCells, success));
      }
    }
  }
}

}  // namespace warpmark::analyze
