#include "optimize/search.h"

#include <fmt/format.h>

#include <utility>

#include "optimize/plan.h"
#include "optimize/stages/optimization_states.h"
#include "optimize/stages/search_state.h"

namespace warpmark::optimize {
namespace {

std::string verdict_of(const SearchState& state) {
  if (state.is_proven() && state.proof) {
    return fmt::format("{} faster, proven in {} pairs of fresh processes: {}", interval_text(*state.proof->speedup),
                       state.proof->times_to_s.size(), text_of(state.best));
  }
  if (!state.optimization.unreliable.empty()) {
    return fmt::format("the last test is unreliable ({}): repeat it with --prove when the machine is quiet",
                       state.optimization.unreliable);
  }
  if (!state.best.empty() && state.likely && state.likely->low > 1) {
    return fmt::format("{} faster in one process, not proven in fresh processes: {}; run the same command to continue",
                       interval_text(*state.likely), text_of(state.best));
  }
  if (state.stopped || state.cut_short) {
    const auto why =
        state.why_stopped.empty() ? "the rest of the budget is too short for the next test" : state.why_stopped;
    return why + "; nothing is proven so far; run the same command to continue";
  }
  if (!state.best.empty()) return "not decided: more rounds would (--rounds)";
  return "nothing was gained: no setting is proven faster with the same answers";
}

/// From the state to the optimization: the plan, its proof, and what each setting gained.
void report(SearchState& state) {
  auto& optimization = state.optimization;
  state.fall_back_on_selection();
  // A plan that grew after its proof, and whose own proof did not come in time: the proven one is reported.
  if (!state.is_proven() && state.proof && !state.proven.empty()) state.go_back_to_proven();
  for (const auto& setting : state.best) optimization.plan.emplace_back(setting.knob, setting.value);
  if (state.is_proven()) {
    const auto& proof = *state.proof;
    optimization.measured_speedup = proof.speedup;
    optimization.times_original_s = proof.times_from_s;
    optimization.times_optimized_s = proof.times_to_s;
    optimization.optimized = optimized_state(optimization.baseline, proof);
    double singles = 1;
    bool known = true;
    for (const auto& one : state.kept) {
      auto& step = optimization.steps[one.step];
      if (state.kept.size() == 1) step.measured = proof.speedup;
      if (step.reason.empty() || state.kept.size() == 1) step.reason = "proven: " + interval_text(*proof.speedup);
      const auto& own = step.measured ? step.measured : step.in_process;
      known = known && own.has_value();
      if (own) singles *= own->ratio;
    }
    if (known && singles > 0) optimization.interaction = proof.speedup->ratio / singles;
  } else {
    for (const auto& one : state.kept) optimization.steps[one.step].outcome = TrialOutcome::undecided;
    if (state.likely && state.likely->low > 1) optimization.likely_speedup = state.likely;
  }
  optimization.complete = !state.stopped && !state.cut_short;
  optimization.verdict = verdict_of(state);
  if (const auto* step = refused_request(optimization)) {
    optimization.verdict += fmt::format("; {}={} was asked for: {}{}{}", step->knob, step->value,
                                        name_of(step->outcome), step->reason.empty() ? "" : ", ", step->reason);
  }
}

/// The plan that stages left, against the original; the machine may have been disturbed.
Status finish(SearchState& state) {
  if (!state.stopped) WM_TRY(state.prove());
  report(state);
  return {};
}

}  // namespace

Status search(Trials& trials, const ProgramFacts& baseline, const SearchOptions& options, Optimization& optimization) {
  SearchState state(trials, baseline, options, optimization);
  WM_TRY(bundle_stage(state));
  if (!state.stopped) WM_TRY(state.prove());
  if (!state.stopped) WM_TRY(singles_stage(state));
  state.list_untested();
  return finish(state);
}

Status prove(Trials& trials, const ProgramFacts& baseline, const Settings& plan, const SearchOptions& options,
             Optimization& optimization) {
  SearchState state(trials, baseline, options, optimization);
  const auto proposals = options.propose ? options.propose(baseline, {}) : std::vector<Proposal>();
  for (const auto& setting : plan) {
    Proposal proposal{.setting = setting, .title = setting.knob, .asked = true};
    if (const Knob* knob = find_in(knobs(), setting.knob)) {
      proposal.title = knob->title;
      proposal.numerics = numerics_of(*knob, baseline);
    }
    for (const auto& one : proposals) {  // the user's own
      if (one.setting.knob == setting.knob) proposal.numerics = one.numerics;
    }
    state.keep(proposal);
    state.step_of(proposal).answers = {.kind = "none", .text = "judged with the whole plan"};
    state.step_of(proposal).reason = "part of the plan";
  }
  return finish(state);
}

}  // namespace warpmark::optimize
