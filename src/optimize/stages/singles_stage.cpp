// The stage of a search that tests settings in fresh processes: those that no living process can switch, one at a time
// on top of the best so far; all of them where the program has no steps to switch between.
#include <fmt/format.h>

#include <algorithm>

#include "optimize/stages/optimization_states.h"
#include "optimize/stages/search_state.h"

namespace warpmark::optimize {
namespace {

constexpr double kFarSlower = 1.5;
constexpr int kMostInVain = 2;  // values that grow and gain nothing, one after another

class SinglesStage {
 public:
  explicit SinglesStage(SearchState& state) : state_(state) {}

  Status run() {
    const auto before = state_.kept.size();
    for (int i = 0; i < state_.options.max_trials && !state_.stopped; ++i) {
      const auto proposal = next();
      if (!proposal) break;
      if (!state_.affords(state_.trials.test_s())) {
        state_.cut_short = true;
        state_.decide("budget used; the same command continues with " + text_of({proposal->setting}));
        break;
      }
      WM_TRY(trial(*proposal));
    }
    return !state_.stopped && state_.kept.size() > before + 1 ? leave_one_out(before) : Status();
  }

 private:
  std::optional<Proposal> next() {
    for (auto& proposal : state_.open()) {
      const auto& knob = proposal.setting.knob;
      if (proposal.until_memory_ends && in_vain_[knob] >= kMostInVain) continue;
      if (!proposal.asked && far_slower_.contains(knob)) continue;
      return std::move(proposal);
    }
    return std::nullopt;
  }

  Status trial(const Proposal& proposal) {
    const Variant candidate{with(state_.best, proposal.setting), state_.numerics_with(proposal.numerics)};
    WM_ASSIGN(auto result, state_.trials.compare(state_.best, candidate, false, false));
    auto& step = state_.step_of(proposal);
    add_costs(result, step);
    if (result.stopped) {
      state_.stop(result.reason, text_of({proposal.setting}));
      return {};
    }
    judge_trial(result, step);
    if (step.outcome == TrialOutcome::kept && proposal.numerics != Numerics::exact) {
      WM_TRY(evaluate(candidate.settings, step));
      if (state_.stopped) return {};
    }
    if (result.times_as_long >= kFarSlower) far_slower_.insert(step.knob);
    if (proposal.until_memory_ends) note_end(result, step);
    const auto outcome = step.outcome;
    const auto reason = step.reason;
    state_.close(proposal, outcome, reason);
    if (outcome != TrialOutcome::kept) return {};
    const Settings before = state_.best;
    state_.keep(proposal);
    before.empty() ? state_.selected_by(result) : state_.selected_further(before, result);
    auto& kept_step = state_.step_of(proposal);
    so_far_ = product(so_far_, *result.speedup);
    kept_step.cumulative = so_far_;
    kept_step.measured = result.speedup;
    auto analyzed = state_.facts.analyzed;
    auto found = state_.facts.found;
    if (!result.facts.report.steps.empty()) state_.facts = std::move(result.facts);
    state_.facts.analyzed = analyzed;
    state_.facts.found = std::move(found);
    return {};
  }

  void note_end(const TrialResult& result, const OptimizationStep& step) {
    int& in_vain = in_vain_[step.knob];
    in_vain = step.outcome == TrialOutcome::kept ? 0 : result.out_of_memory ? kMostInVain : in_vain + 1;
    if (in_vain == kMostInVain) {
      state_.decide(fmt::format("{}: no larger value is tried: {}", step.knob,
                                result.out_of_memory ? "out of memory" : "two gained nothing"));
    }
  }

  /// What is faster must also be as good where the user said how to measure that.
  Status evaluate(const Settings& candidate, OptimizationStep& step) {
    WM_ASSIGN(const auto result, state_.trials.evaluate(candidate));
    add_costs(result, step);
    if (result.stopped) {
      state_.stop(result.reason, step.knob + "=" + step.value);
      return {};
    }
    if (!result.answers_same || !result.answers_known) {
      step.outcome = result.answers_same ? TrialOutcome::undecided : TrialOutcome::rejected;
      step.reason = result.answers.text;
    }
    if (!result.answers.text.empty()) step.answers = result.answers;
    return {};
  }

  static void add_costs(const TrialResult& result, OptimizationStep& step) {
    step.cost_s += result.cost_s;
    step.runs += result.runs;
  }

  /// Each of those kept here against all without it: what gains nothing any more is left out, and what it is reported
  /// to gain is measured afresh, not by the pairs that selected it.
  Status leave_one_out(std::size_t first) {
    const std::vector<Kept> all(state_.kept.begin() + static_cast<std::ptrdiff_t>(std::min(first, state_.kept.size())),
                                state_.kept.end());
    for (const auto& one : all) {
      if (state_.kept.size() < 2) break;
      if (!state_.affords(state_.trials.test_s())) {
        state_.cut_short = true;
        break;
      }
      const auto& knob = one.proposal.setting.knob;
      WM_ASSIGN(const auto result,
                state_.trials.compare(without(state_.best, knob), state_.best_variant(), false, true));
      auto& step = state_.optimization.steps[one.step];
      add_costs(result, step);
      if (result.stopped) {
        state_.stop(result.reason);
        return {};
      }
      if (result.speedup) step.measured = result.speedup;
      const bool holds = result.failure.empty() && result.verdict != Verdict::same && result.verdict != Verdict::worse;
      const auto text = result.speedup ? interval_text(*result.speedup) : result.failure;
      if (holds) {
        state_.decide(fmt::format("without {}: {}", knob, text));
      } else {
        state_.drop(knob, without_gain(result.speedup), "no gain on top of the others: " + text);
      }
    }
    return {};
  }

  SearchState& state_;
  std::map<std::string, int> in_vain_;
  std::set<std::string> far_slower_;  ///< settings with a value that took so many times as long: no other is tried
  std::optional<SpeedUp> so_far_;
};

}  // namespace

Status singles_stage(SearchState& state) { return SinglesStage(state).run(); }

}  // namespace warpmark::optimize
