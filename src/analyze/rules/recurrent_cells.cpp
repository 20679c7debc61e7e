#include "analyze/rules/recurrent_cells.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace warpmark::analyze {

namespace {

constexpr double kFewestCells = 16;  // a step
// Of two programs measured with nn.GRU in place of a loop of GRUCell, hidden sizes 256 and 512.
constexpr double kKernelTimeLeft = 0.6;
constexpr double kDispatchLeft = 0.03;

/// What PyTorch records of a cell forward, and of its backward pass.
constexpr std::array<std::string_view, 4> kForward = {"aten::gru_cell", "aten::lstm_cell", "aten::rnn_tanh_cell",
                                                      "aten::rnn_relu_cell"};
constexpr std::array<std::string_view, 2> kBackward = {"aten::_thnn_fused_gru_cell_backward",
                                                       "aten::_thnn_fused_lstm_cell_backward_impl"};

struct Loop {
  std::int64_t start = INT64_MAX;
  std::int64_t end = INT64_MIN;
  std::int64_t cells = 0;
};

/// The cells of each analyzed step.
template <std::size_t N>
std::vector<Loop> loops_of(const RankEvidence& rank, const std::array<std::string_view, N>& names) {
  const Timeline& timeline = *rank.timeline;
  std::vector<Loop> loops(rank.steps.analyzed.size());
  std::vector<bool> wanted(timeline.names.size());
  bool any = false;
  for (const std::string_view name : names) {
    if (const auto id = timeline.names.find(name)) wanted[*id] = any = true;
  }
  if (!any) return loops;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events.kind[i] != EventKind::op || !wanted[timeline.events.name[i]]) continue;
    const std::int64_t start = timeline.events.start[i];
    const auto step = std::ranges::upper_bound(rank.steps.analyzed, start, {}, &StepSpan::start_ns);
    if (step == rank.steps.analyzed.begin() || start >= std::prev(step)->end_ns) continue;
    Loop& loop = loops[static_cast<std::size_t>(std::prev(step) - rank.steps.analyzed.begin())];
    loop.start = std::min(loop.start, start);
    loop.end = std::max(loop.end, timeline.events.end(i));
    ++loop.cells;
  }
  return loops;
}

void shrink(const RankEvidence& rank, const std::vector<Loop>& loops, double success, WhatIf& change) {
  for (const ReplayWork& one : rank.replay.works()) {
    const GpuWork& work = rank.list.works[one.work];
    if (work.launch == kNoEvent) continue;
    const std::int64_t launched = rank.timeline->events.start[work.launch];
    const bool inside = std::ranges::any_of(loops, [launched](const Loop& loop) {
      return static_cast<double>(loop.cells) >= kFewestCells && launched >= loop.start && launched < loop.end;
    });
    if (!inside) continue;
    change.duration_scale[one.work] *= static_cast<float>(scaled(kKernelTimeLeft, success));
    change.dispatch_scale[one.work] *= static_cast<float>(scaled(kDispatchLeft, success));
  }
}

}  // namespace

double cells_in_a_loop(const RankEvidence& rank) {
  double cells = 0;
  for (const Loop& loop : loops_of(rank, kForward)) cells += static_cast<double>(loop.cells);
  cells /= rank.step_count();
  return cells >= kFewestCells ? cells : 0;
}

void run_cells_at_once(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    shrink(rank, loops_of(rank, kForward), success, change.ranks[r]);
    shrink(rank, loops_of(rank, kBackward), success, change.ranks[r]);
  }
}

}  // namespace warpmark::analyze
