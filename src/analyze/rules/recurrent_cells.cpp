#include "analyze/rules/recurrent_cells.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmark::analyze {

namespace {

constexpr int kFewestCells = 16;          // in a row
constexpr std::size_t kMostBetween = 24;  // launches between two: products of the backward pass, gradients added up
// Of two programs measured with nn.GRU in place of a loop of GRUCell, hidden sizes 256 and 512.
constexpr double kKernelTimeLeft = 0.6;
constexpr double kDispatchLeft = 0.03;

enum class Kind : std::uint8_t { other, forward, backward, breaks };

/// What PyTorch records of cells, and what makes the next input of the last output (or may) between them.
Kind kind_of(std::string_view op) {
  for (const std::string_view one : {"aten::gru_cell", "aten::lstm_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"})
    if (op == one) return Kind::forward;
  for (const std::string_view one :
       {"aten::_thnn_fused_gru_cell_backward", "aten::_thnn_fused_lstm_cell_backward_impl"})
    if (op == one) return Kind::backward;
  for (const std::string_view one :
       {"aten::argmax", "aten::topk", "aten::multinomial", "aten::embedding", "aten::_softmax", "aten::softmax",
        "aten::bmm", "aten::baddbmm", "aten::scaled_dot_product_attention", "aten::convolution"})
    if (op == one) return Kind::breaks;
  return Kind::other;
}

/// Cells in a row: their works and what is launched between them, in launch order.
struct Run {
  std::size_t first = 0, last = 0;  ///< indices into Replay::works
  int cells = 0;
  Kind kind = Kind::other;
};

class Runs {
 public:
  explicit Runs(const RankEvidence& rank) : rank_(rank), kinds_(rank.timeline->names.size(), Kind::other) {
    bool any = false;
    for (NameId i = 0; i < kinds_.size(); ++i) {
      kinds_[i] = kind_of(rank.timeline->names.at(i));
      any = any || kinds_[i] == Kind::forward;
    }
    if (any) find();
  }

  [[nodiscard]] std::vector<Run> take() { return std::move(found_); }

 private:
  struct Cell {
    Kind kind = Kind::other;
    EventIndex op = kNoEvent;
  };

  /// Steps follow one another, whatever is at the end of one and at the beginning of the next.
  [[nodiscard]] std::ptrdiff_t step_of(const ReplayWork& one) const {
    const std::vector<StepSpan>& steps = rank_.steps.analyzed;
    return std::ranges::upper_bound(steps, rank_.list.works[one.work].start, {}, &StepSpan::start_ns) - steps.begin();
  }

  /// The cell that a work belongs to, or what it breaks.
  [[nodiscard]] Cell cell_of(const ReplayWork& one) const {
    Kind own = Kind::other;
    for (EventIndex at = rank_.list.works[one.work].op; at != kNoEvent; at = rank_.list.parent[at]) {
      const Kind kind = kinds_[rank_.timeline->events.name[at]];
      if (kind == Kind::forward || kind == Kind::backward) return {kind, at};
      if (kind == Kind::breaks) own = kind;
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
      const bool ends = cell.kind == Kind::breaks || i > run.last + kMostBetween ||
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
  std::vector<Kind> kinds_;  // by name
  std::vector<Run> found_;
};

}  // namespace

double cells_in_a_loop(const RankEvidence& rank) {
  double cells = 0;
  for (const Run& run : Runs(rank).take()) cells += run.kind == Kind::forward ? run.cells : 0;
  return cells / std::max(1, rank.replay.steps());
}

void run_cells_at_once(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    for (const Run& run : Runs(rank).take()) {
      for (std::size_t i = run.first; i <= run.last; ++i) {
        const std::size_t work = rank.replay.works()[i].work;
        change.ranks[r].duration_scale[work] *= static_cast<float>(scaled(kKernelTimeLeft, success));
        change.ranks[r].dispatch_scale[work] *= static_cast<float>(scaled(kDispatchLeft, success));
      }
    }
  }
}

}  // namespace warpmark::analyze
