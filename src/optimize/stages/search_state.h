// What the stages of a search share: the facts, the best settings so far, what is proven, and the log. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/optimization.h"
#include "optimize/knob.h"
#include "optimize/search.h"

namespace warpmark::optimize {

/// A setting of the best so far, and its step in the optimization.
struct Kept {
  Proposal proposal;
  std::size_t step = 0;
};

class SearchState {
 public:
  SearchState(Trials& all_trials, ProgramFacts baseline, const SearchOptions& search_options, Optimization& log)
      : trials(all_trials), facts(std::move(baseline)), options(search_options), optimization(log) {}

  void decide(const std::string& text);
  /// `during`: the test that did not end, for the log.
  void stop(const std::string& why, const std::string& during = {});
  /// What may be tried on top of the best so far and was not yet.
  [[nodiscard]] std::vector<Proposal> open() { return open_on(best); }
  [[nodiscard]] std::vector<Proposal> open_on(const Settings& settings);
  [[nodiscard]] static double worth(const Proposal& proposal);

  /// The step of this setting, made where there is none yet.
  OptimizationStep& step_of(const Proposal& proposal);
  void keep(const Proposal& proposal);
  /// Takes a setting out of the best so far.
  void drop(const std::string& knob, TrialOutcome outcome, const std::string& reason);
  void close(const Proposal& proposal, TrialOutcome outcome, const std::string& reason);

  [[nodiscard]] NumericsSet numerics() const;
  [[nodiscard]] NumericsSet numerics_with(Numerics one) const { return numerics().with(one); }
  [[nodiscard]] Variant best_variant() const { return {best, numerics()}; }
  [[nodiscard]] bool is_proven() const { return proof.has_value() && proven == best; }
  /// Whether there is time for this and the proof that must follow.
  [[nodiscard]] bool affords(double seconds) const;

  /// In the living process, which may not be there, or end.
  [[nodiscard]] Result<WithinResult> within(const Settings& from, const std::vector<Variant>& variants, bool decide);
  /// What that takes about, compiling included.
  [[nodiscard]] double expected_s(const Settings& from, const std::vector<Variant>& variants) const;
  [[nodiscard]] bool over() const { return stopped || !available; }

  /// The original against the best so far in fresh processes. Where it fails, or its answers are others, the riskiest
  /// setting goes and the rest is tried; where it gains less than what was proven before, that stays.
  Status prove();
  /// The best so far was compared with the original in fresh processes to select it: its proof where no other one comes
  /// in time.
  void selected_by(const TrialResult& result) { selected_ = Selected{best, kept, result}; }
  /// The same, where it was compared with what was selected before: both comparisons are of fresh processes, so their
  /// product is its speedup over the original.
  void selected_further(const Settings& before, const TrialResult& result);
  /// In an optimization that ended early: what is left that was worth a test.
  void list_untested();
  /// Takes that comparison for the proof if there is none and none was tried.
  void fall_back_on_selection();
  /// The best so far is again what was proven.
  void go_back_to_proven() { go_back(TrialOutcome::undecided, "not proven in fresh processes within the budget"); }

  Trials& trials;
  ProgramFacts facts;
  const SearchOptions& options;
  Optimization& optimization;
  Settings best;
  std::vector<Kept> kept;
  Settings proven;
  std::optional<TrialResult> proof;  ///< of `proven`
  std::set<std::string> tried;
  bool state_checked = false;     ///< the answers of the best so far passed at the same state
  std::optional<SpeedUp> likely;  ///< of the best so far, in the living process
  /// That a compiler takes in the living process: 9 to 33 s of twelve public programs on an H200; then what it took
  /// here.
  double compile_s = 33;
  bool stopped = false;  ///< interrupted, or no budget is left
  std::string why_stopped;
  bool available = true;   ///< the living process is
  bool cut_short = false;  ///< the budget left out settings or tests

 private:
  /// True where something is left to be tried.
  bool drop_riskiest(TrialOutcome outcome, const std::string& reason);
  void go_back(TrialOutcome outcome, const std::string& reason);
  [[nodiscard]] bool is_slower_than_proven(const SpeedUp& now) const;
  Status judge_quality(TrialResult& result);
  std::map<std::string, std::size_t> steps_;  ///< by "knob=value"
  std::vector<Kept> proven_kept_;
  struct Selected {
    Settings settings;
    std::vector<Kept> kept;
    TrialResult result;
  };
  std::optional<Selected> selected_;
};

/// What a compiler makes depends on it: it compiles again without it.
[[nodiscard]] bool is_compiled_in(std::string_view knob);
/// "2.9x [2.5, 3.3]".
[[nodiscard]] std::string interval_text(const SpeedUp& speedup);
/// Of a setting that is not proven faster: slower where its interval shows that.
[[nodiscard]] TrialOutcome without_gain(const std::optional<SpeedUp>& measured);

/// The stages, in this order.
Status bundle_stage(SearchState& state);
/// Part of it.
Status prune(SearchState& state);
Status singles_stage(SearchState& state);

// What techniques gained in other programs, beside what they gained in this one. Pure.

/// The table: gains of fixing one bottleneck by hand, of the corpus' programs in which that was measured
/// (docs/results/analysis-2026-11-21.csv: median and quartiles, one value a program), and the ranges that guides give.
[[nodiscard]] std::span<const TechniquePrior> priors();

/// By the bottleneck that the knob answers first; none where nothing was measured, and for knobs of the user.
[[nodiscard]] std::optional<TechniquePrior> prior_of(std::string_view knob);

}  // namespace warpmark::optimize
