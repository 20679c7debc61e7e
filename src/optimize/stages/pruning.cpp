// Pruning: what gains nothing next to the others leaves the plan, and the rest is put on one after another.
#include <algorithm>

#include "optimize/stages/pair_test.h"
#include "optimize/stages/search_state.h"

namespace warpmark::optimize {
namespace {

bool is_in_graph(const Kept& one) { return is_compiled_in(one.proposal.setting.knob); }

/// Whether there is time to compile once for each of these.
bool affords_compiling(const SearchState& state, const std::vector<Kept>& kept) {
  if (value_of(state.best, kCompile).empty()) return true;
  return state.affords(state.compile_s * static_cast<double>(std::ranges::count_if(kept, is_in_graph)));
}

/// All at once where the rest is as fast; else the one that gains least.
Status take_out(SearchState& state, const std::vector<std::string>& idle) {
  Settings rest = state.best;
  for (const auto& knob : idle) rest = without(rest, knob);
  const auto own_gain = [&](const std::string& knob) {
    for (const auto& one : state.kept) {
      if (one.proposal.setting.knob == knob) return state.optimization.steps[one.step].in_process->ratio;
    }
    return 1.0;
  };
  bool all = idle.size() == 1;
  if (!all && !rest.empty()) {
    WM_ASSIGN(const auto result, state.within(state.best, {{rest, state.numerics()}}, true));
    if (state.over()) return {};
    const auto& gain = result.variants.front().gain;
    all = result.variants.front().failure.empty() && gain && gain->low > 1 - kAsFast;
  }
  const auto least = std::ranges::min_element(idle, {}, own_gain);
  for (const auto& knob : idle) {
    if (all || knob == *least) state.drop(knob, TrialOutcome::no_gain, "no gain on top of the others");
  }
  return {};
}

/// Each setting is taken out once; what gains nothing next to the others goes.
Status take_out_idle(SearchState& state) {
  if (state.kept.size() < 2) return {};
  std::vector<Kept> kept = state.kept;
  std::erase_if(kept, [](const Kept& one) { return !one.proposal.switchable; });
  if (!affords_compiling(state, kept)) std::erase_if(kept, is_in_graph);
  if (kept.empty()) return {};
  std::vector<Variant> variants;
  for (const auto& one : kept) {
    variants.push_back({without(state.best, one.proposal.setting.knob), state.numerics()});
  }
  if (!state.affords(state.expected_s(state.best, variants))) return {};
  WM_ASSIGN(const auto result, state.within(state.best, variants, true));
  if (state.over()) return {};
  std::vector<std::string> idle;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto& gain = result.variants[i].gain;  // of the rest over the best
    if (!result.variants[i].failure.empty() || !gain) continue;
    const SpeedUp own{1 / gain->ratio, 1 / gain->high, 1 / gain->low, gain->confidence};
    state.optimization.steps[kept[i].step].in_process = own;
    const bool shown = gain->low > 1 - kAsFast;  // that the rest is as fast: an open gain stays
    if (shown && own.ratio < 1 + state.options.effect && own.low < 1) idle.push_back(kept[i].proposal.setting.knob);
  }
  return idle.empty() ? Status() : take_out(state, idle);
}

/// The settings one after another, the largest gain first: what each adds, and the memory with it.
Status build_up(SearchState& state) {
  if (state.kept.size() < 2 || !affords_compiling(state, state.kept)) return {};
  const auto own = [&](const Kept& one) {
    return state.optimization.steps[one.step].in_process.value_or(SpeedUp{}).ratio;
  };
  std::ranges::stable_sort(state.kept, [&](const Kept& a, const Kept& b) { return own(a) > own(b); });
  std::vector<Variant> variants;
  Settings together;
  for (const auto& one : state.kept) {
    together = with(together, one.proposal.setting);
    variants.push_back({together, state.numerics()});
  }
  if (!state.affords(state.trials.within_s({}, variants))) return {};
  WM_ASSIGN(const auto result, state.within({}, variants, false));
  if (state.over()) return {};
  for (std::size_t i = 0; i < state.kept.size(); ++i) {
    auto& step = state.optimization.steps[state.kept[i].step];
    step.cumulative = result.variants[i].gain;
    step.memory_bytes = result.variants[i].memory_bytes;
  }
  state.likely = result.variants.back().gain ? result.variants.back().gain : state.likely;
  return {};
}

}  // namespace

Status prune(SearchState& state) {
  WM_TRY(take_out_idle(state));
  return state.over() ? Status() : build_up(state);
}

}  // namespace warpmark::optimize
