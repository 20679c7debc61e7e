// The stages of a search that run in the living process of the program: bundle, proof, improvement; pruning follows.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "optimize/answers.h"
#include "optimize/stages/in_process.h"
#include "optimize/stages/optimization_states.h"
#include "optimize/stages/pair_test.h"
#include "optimize/stages/search_state.h"

namespace warpmark::optimize {
namespace {

constexpr double kRecording_s = 20;
constexpr double kShortCompiling_s = 20;  // what a rest of the budget may still be enough for
constexpr int kMostSplits = 6;
constexpr int kMostImprovements = 8;

class BundleStage {
 public:
  explicit BundleStage(SearchState& state) : state_(state) {}

  Status run() {
    WM_TRY(settle(first_bundle()));
    if (state_.over()) return {};
    keep_fixed();
    WM_TRY(prove_if_faster());
    if (state_.stopped) return {};
    WM_TRY(improve());
    if (state_.over()) return {};
    WM_TRY(record());
    nothing_else_left_ = true;
    WM_TRY(improve());
    if (state_.over()) return {};
    WM_TRY(prune(state_));
    return state_.over() ? Status() : show_kernels();
  }

 private:
  /// A gain that shows clearly is proven at once, so that the user has it; a small one may grow first, and pairs that
  /// show it would take the time of the compiler.
  Status prove_if_faster() {
    if (state_.best.empty()) return {};
    const auto& likely = state_.likely;
    const double proven = state_.proof && state_.proof->speedup ? state_.proof->speedup->ratio : 1;
    const bool fixed = std::ranges::any_of(state_.kept, [](const Kept& one) { return !one.proposal.switchable; });
    const bool clear = likely && is_worth_proof({.ratio = likely->ratio / proven, .low = likely->low / proven}) &&
                       (!state_.proof || likely->low > 1);
    return clear || fixed ? prove_once() : Status();
  }
  Status prove_once() {
    if (attempted_ == state_.best) return {};
    WM_TRY(state_.prove());
    attempted_ = state_.best;  // without what the proof removed
    return {};
  }

  /// Each of its blocks needs three steps for every worker of the loader: later, where loading hardly takes time.
  [[nodiscard]] bool is_slow_to_time(const Proposal& proposal) const {
    return is_of_loader(proposal.setting.knob) && !proposal.asked && !state_.facts.waits_for_data();
  }

  /// Of each setting the most promising value; then what is offered on top of these, as pinned memory for workers.
  std::vector<Proposal> first_bundle() {
    std::vector<Proposal> members;
    Settings together;
    for (int round = 0; round < 2; ++round) {
      for (auto& proposal : state_.open_on(together)) {
        if (!proposal.switchable || !(proposal.bundled || proposal.asked) || is_slow_to_time(proposal)) continue;
        if (!value_of(together, proposal.setting.knob).empty()) continue;
        together = with(together, proposal.setting);
        members.push_back(std::move(proposal));
      }
    }
    return members;
  }

  /// What a person would remove at once and no living process can switch, as variables left over from debugging.
  void keep_fixed() {
    for (auto& proposal : state_.open()) {
      if (proposal.switchable || !proposal.bundled) continue;
      state_.keep(proposal);
      state_.step_of(proposal).reason = "part of the bundle";
    }
  }

  static Variant variant_of(const Settings& base, const std::vector<Proposal>& members, NumericsSet numerics) {
    Variant variant{base, numerics};
    for (const auto& member : members) {
      variant.settings = with(variant.settings, member.setting);
      variant.numerics.add(member.numerics);
    }
    return variant;
  }

  /// Each alone on top of the best so far.
  [[nodiscard]] std::vector<Variant> variants_of(const std::vector<Proposal>& proposals) const {
    std::vector<Variant> variants;
    for (const auto& one : proposals) variants.push_back(variant_of(state_.best, {one}, state_.numerics()));
    return variants;
  }

  /// Settings without an effect are out; what is left of the members was measured.
  void drop_without_effect(const VariantResult& result, std::vector<Proposal>& members) {
    for (const auto& [knob, why] : result.nothing) {
      const auto found =
          std::ranges::find(members, knob, [](const Proposal& one) -> const std::string& { return one.setting.knob; });
      if (found == members.end()) continue;
      state_.close(*found, TrialOutcome::failed, "changes nothing here: " + why);
      members.erase(found);
    }
    for (const auto& knob : result.elsewhere) {
      unswitchable_.insert(knob);
      std::erase_if(members, [&](const Proposal& one) { return one.setting.knob == knob; });
    }
  }

  [[nodiscard]] bool passes(const VariantResult& result) const {
    return is_unharmed(result) && result.gain && result.gain->ratio >= 1 + state_.options.effect &&
           result.gain->low > 1;
  }

  Status settle(std::vector<Proposal> members) {
    for (int i = 0; i < kMostSplits && !members.empty(); ++i) {
      WM_ASSIGN(const auto result,
                state_.within(state_.best, {variant_of(state_.best, members, state_.numerics())}, false));
      if (state_.over()) return {};
      const auto& whole = result.variants.front();
      drop_without_effect(whole, members);
      if (members.empty()) return {};
      if (passes(whole)) return adopt(members, whole);
      if (members.size() == 1) {
        close_failed(members.front(), whole);
        return {};
      }
      const bool undecided = is_unharmed(whole) && whole.gain && whole.gain->high >= 1;
      if (undecided) {  // no part does harm, and each may gain on top of what else is found
        state_.decide(fmt::format("{} in one process with all {} settings: testing them one by one later",
                                  interval_text(*whole.gain), members.size()));
        return {};
      }
      state_.decide(fmt::format("all {} settings: {}; testing each alone", members.size(), why_not(whole)));
      if (is_unharmed(whole)) WM_TRY(compile_first());
      if (state_.over() || !value_of(state_.best, kCompile).empty()) return {};  // proven first, the rest later
      if (state_.trials.left_s() < state_.expected_s(state_.best, variants_of(members))) return {};  // one by one later
      WM_TRY(split(members));
      if (state_.over()) return {};
    }
    return {};
  }

  Status adopt(const std::vector<Proposal>& members, const VariantResult& result) {
    for (const auto& member : members) {
      state_.keep(member);
      auto& step = state_.step_of(member);
      step.answers = result.answers;
      step.reason = "part of the bundle";
    }
    state_.state_checked = result.answers.kind == kAtSameState;
    state_.likely = result.gain;
    if (result.data_share) state_.facts.wait_for_data(*result.data_share);
    state_.decide(fmt::format("{} in one process with {}", interval_text(*result.gain), text_of(state_.best)));
    return {};
  }

  void close_failed(const Proposal& proposal, const VariantResult& result) {
    auto& step = state_.step_of(proposal);
    step.in_process = result.gain;
    step.answers = result.answers;
    const bool measured = is_unharmed(result) && result.gain;
    state_.close(proposal, outcome_in_process(result, state_.options.effect),
                 measured ? fmt::format("{} in one process", interval_text(*result.gain)) : why_not(result));
  }

  /// Each member alone: what fails, changes the answers or seems slower goes; if none does, the one that gains least.
  Status split(std::vector<Proposal>& members) {
    WM_ASSIGN(const auto result, state_.within(state_.best, variants_of(members), false));
    if (state_.over()) return {};
    std::vector<Proposal> rest;
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& one = result.variants[i];
      const bool slower = one.gain && (one.gain->high < 1 || one.gain->ratio <= 1 - state_.options.effect);
      if (!is_unharmed(one) || slower) {
        close_failed(members[i], one);
        continue;
      }
      state_.step_of(members[i]).in_process = one.gain;
      const double gain = one.gain ? one.gain->ratio : 1;
      const auto gain_of = [&](std::size_t k) { return state_.step_of(rest[k]).in_process.value_or(SpeedUp{}).ratio; };
      rest.push_back(members[i]);
      if (!least || gain < gain_of(*least)) least = rest.size() - 1;
    }
    if (rest.size() == members.size() && least) {
      state_.close(rest[*least], TrialOutcome::no_gain, "smallest gain of settings that gained nothing together");
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*least));
    }
    members = std::move(rest);
    return {};
  }

  /// The findings of the original; what they speak for comes first.
  Status record() {
    if (!state_.affords(kRecording_s)) return {};
    WM_ASSIGN(const auto recorded, state_.trials.record({}));
    if (!recorded.text.empty()) state_.decide(recorded.text);
    if (!recorded.analyzed) return {};  // what an earlier analysis found stays
    state_.facts.analyzed = true;
    state_.facts.found = recorded.found;
    return {};
  }

  /// In which kernels each setting of the plan shows: what was read back may still be without effect.
  Status show_kernels() {
    if (state_.best.empty() || !state_.affords(kRecording_s)) return {};
    WM_ASSIGN(const auto recorded, state_.trials.record(state_.best));
    for (const auto& one : state_.kept) {
      for (const auto& [knob, text] : recorded.kernels) {
        if (knob == one.proposal.setting.knob) state_.optimization.steps[one.step].kernels = text;
      }
    }
    return {};
  }

  /// Where the settings that are usual gained nothing the compiler may, more than any of them alone.
  Status compile_first() {
    auto candidates = state_.open();
    std::erase_if(candidates, [](const Proposal& one) { return one.setting.knob != kCompile || !one.switchable; });
    if (candidates.empty() || !computes() || !affords_compiler()) return {};
    candidates.resize(1);
    return try_on_top(candidates);
  }

  [[nodiscard]] bool computes() const { return state_.facts.phases.data < 0.5; }
  /// And the proof of what is known to be faster already.
  [[nodiscard]] bool affords_compiler() const {
    return state_.best.empty() ? state_.trials.left_s() >= state_.compile_s : state_.affords(state_.compile_s);
  }

  Status improve() {
    for (int i = 0; i < kMostImprovements && !state_.over(); ++i) {
      close_compilers();
      auto candidates = state_.open();
      std::erase_if(candidates, [&](const Proposal& one) {
        const bool too_long = one.setting.knob == kCompile && !one.asked && !affords_compiler();
        return !one.switchable || unswitchable_.contains(one.setting.knob) || (too_long && !nothing_else_left_);
      });
      if (candidates.empty()) return {};
      if (!nothing_else_left_ && !state_.affords(0)) {
        state_.cut_short = true;
        return {};
      }
      // Compiling takes a while and changes what the others gain: by itself.
      const bool compile = candidates.front().setting.knob == kCompile ||
                           (computes() && std::ranges::any_of(candidates, [](const Proposal& one) {
                              return one.setting.knob == kCompile;
                            }));
      std::erase_if(candidates, [&](const Proposal& one) { return (one.setting.knob == kCompile) != compile; });
      if (compile) candidates.resize(1);
      if (!compile) leave_what_fits(candidates);
      if (candidates.empty()) {
        state_.cut_short = true;
        return {};
      }
      WM_TRY(try_on_top(candidates));
      if (!state_.over()) WM_TRY(prove_if_faster());
    }
    return {};
  }

  /// Settings of a loader apart, as they make all blocks longer, and last where steps hardly wait for data; of the rest
  /// as many as there is time for.
  void leave_what_fits(std::vector<Proposal>& candidates) const {
    const bool any_quick = std::ranges::any_of(candidates, [&](const Proposal& one) { return !is_slow_to_time(one); });
    if (any_quick) std::erase_if(candidates, [&](const Proposal& one) { return is_slow_to_time(one); });
    const bool loader = is_of_loader(candidates.front().setting.knob);
    std::erase_if(candidates, [&](const Proposal& one) { return is_of_loader(one.setting.knob) != loader; });
    const auto fits = [&] {
      const double seconds = state_.expected_s(state_.best, variants_of(candidates));
      return nothing_else_left_ ? state_.trials.left_s() >= seconds : state_.affords(seconds);
    };
    while (!candidates.empty() && !candidates.back().asked && !fits()) candidates.pop_back();
  }

  /// A program that one mode could not compile breaks in the others too, after as long; tuning kernels for minutes pays
  /// where compiling them did.
  void close_compilers() {
    for (const auto& one : state_.open()) {
      if (one.setting.knob != kCompile || one.asked) continue;
      const bool tunes = one.setting.value.starts_with("max-autotune");
      const bool in_vain = compile_timed_ && value_of(state_.best, kCompile).empty();
      if (compile_failed_) {
        state_.close(one, TrialOutcome::failed, "another mode could not compile the program");
      } else if (tunes && in_vain) {
        state_.close(one, TrialOutcome::no_gain, "compiling gained nothing");
      } else if (nothing_else_left_ && state_.trials.left_s() < kShortCompiling_s) {
        state_.cut_short = true;
        state_.close(one, TrialOutcome::undecided, "not enough budget left to compile");
      }
    }
  }

  Status try_on_top(std::vector<Proposal> candidates) {
    WM_ASSIGN(const auto result, state_.within(state_.best, variants_of(candidates), false));
    if (state_.over()) {
      const auto& first = candidates.front();
      const auto why =
          state_.stopped ? "stopped while compiling: " + result.reason : "the program ended while compiling";
      if (first.setting.knob == kCompile) state_.close(first, TrialOutcome::undecided, why);
      return {};
    }
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& one = result.variants[i];
      const bool is_compiler = candidates[i].setting.knob == kCompile;
      if (changes_nothing(one, candidates[i])) {
        compile_failed_ = compile_failed_ || is_compiler;
        continue;
      }
      if (is_compiler) {
        compile_timed_ = compile_timed_ || one.gain;
        if (one.warm_s > 0) state_.compile_s = one.warm_s;
        const bool by_graphs = candidates[i].setting.value == kCompileToGraphs;  // others may compile all the same
        compile_failed_ = compile_failed_ || (!one.failure.empty() && !by_graphs);
      }
      if (!passes(one)) {
        close_failed(candidates[i], one);
      } else if (!most || one.gain->ratio > result.variants[*most].gain->ratio) {
        most = i;
      }
    }
    if (!most) return {};
    const auto& winner = result.variants[*most];
    state_.step_of(candidates[*most]).in_process = winner.gain;
    if (state_.likely) {
      state_.likely = SpeedUp{state_.likely->ratio * winner.gain->ratio, state_.likely->low * winner.gain->low,
                              state_.likely->high * winner.gain->high, winner.gain->confidence};
    } else {
      state_.likely = winner.gain;
    }
    state_.keep(candidates[*most]);
    state_.step_of(candidates[*most]).answers = winner.answers;
    state_.step_of(candidates[*most]).reason = "faster on top of the others";
    state_.state_checked = state_.state_checked || winner.answers.kind == kAtSameState;
    if (winner.data_share) state_.facts.wait_for_data(*winner.data_share);
    state_.decide(fmt::format("{}: {} in one process on top of the others{}", text_of({candidates[*most].setting}),
                              interval_text(*winner.gain), winner.notes.empty() ? "" : " (" + winner.notes + ")"));
    return {};
  }

  bool changes_nothing(const VariantResult& result, const Proposal& candidate) {
    std::vector<Proposal> one{candidate};
    drop_without_effect(result, one);
    return one.empty();
  }

  SearchState& state_;
  bool compile_failed_ = false, compile_timed_ = false;
  bool nothing_else_left_ = false;      ///< to try: also what the rest of the budget may be too short to prove
  Settings attempted_;                  ///< the best that was last put to the proof
  std::set<std::string> unswitchable_;  ///< that need a process of their own in this program
};

}  // namespace

Status bundle_stage(SearchState& state) { return BundleStage(state).run(); }

}  // namespace warpmark::optimize
