#include "optimize/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "optimize/journey_states.h"
#include "optimize/priors.h"
#include "optimize/screened_settings.h"

namespace warpmark::optimize {
namespace {

/// The order of trials: the middle of what is foretold, over the risk.
double worth(const Proposal& proposal) {
  const double gain = std::sqrt(proposal.predicted.low * proposal.predicted.high) - 1;
  return (gain > 0 ? gain / proposal.risk : gain * proposal.risk) + (proposal.asked ? 1000 : 0);
}

class Search {
 public:
  Search(Trials& trials, ProgramFacts baseline, const SearchOptions& options, Journey& journey)
      : trials_(trials), facts_(std::move(baseline)), options_(options), journey_(journey) {
    memory_ = journey.baseline.memory_bytes;
  }

  /// The plan is taken as kept, and has to stand the final test.
  Status prove(const Settings& plan) {
    best_ = plan;
    const auto proposals = options_.propose ? options_.propose(facts_, {}) : std::vector<Proposal>();  // own ones, too
    for (const auto& setting : plan) {
      const Knob* knob = find_in(knobs(), setting.knob);
      const auto own = std::find_if(proposals.begin(), proposals.end(),
                                    [&](const auto& one) { return one.setting.knob == setting.knob; });
      const auto numerics = own != proposals.end() ? own->numerics
                            : knob != nullptr      ? numerics_of(*knob, facts_)
                                                   : Numerics::rounding;
      numerics_.add(numerics);
      kept_.emplace_back(setting.knob, journey_.steps.size());
      journey_.steps.push_back(planned_step(setting, numerics));
    }
    return finish();
  }

  Status run() {
    WM_TRY(forward());
    if (!stopped_ && kept_.size() > 1) WM_TRY(leave_one_out());
    return finish();
  }

 private:
  Status finish() {
    if (!stopped_ && !kept_.empty()) WM_TRY(final_test());
    for (const auto& setting : best_) journey_.plan.emplace_back(setting.knob, setting.value);
    journey_.complete = !stopped_ && !cut_short_;
    journey_.verdict = verdict();
    return {};
  }

  void decide(const std::string& text) {
    journey_.decisions.push_back(text);
    if (options_.log) options_.log(text);
  }

  /// What may come next, but for what screening discarded.
  std::vector<Proposal> open() {
    std::vector<Proposal> found;
    for (auto& proposal : options_.propose(facts_, best_)) {
      if (tried_.contains(text_of({proposal.setting}))) continue;
      if (value_of(best_, proposal.setting.knob) == proposal.setting.value) continue;
      if (proposal.until_memory_ends && ended_[proposal.setting.knob] >= kEnded) continue;
      if (!proposal.asked && far_slower_.contains(proposal.setting.knob)) continue;
      if (!proposal.asked && proposal.predicted.high < 1 + options_.effect) continue;
      found.push_back(std::move(proposal));
    }
    return found;
  }

  std::optional<Proposal> next() {
    std::optional<Proposal> found;
    double most = 0;
    for (auto& proposal : open()) {
      if (screened_.discards(proposal.setting)) continue;
      const double value = worth(screened_.ordered(proposal));
      if (found && value <= most) continue;
      most = value;
      found = std::move(proposal);
    }
    return found;
  }

  /// Whether the budget is enough for another trial and then the tests that prove the set with it.
  [[nodiscard]] bool affords_trial() const {
    return kept_.empty() || trials_.affords(1 + kept_.size() + 1 + kLastTest);
  }

  /// All that can be switched within a process, beside the best so far.
  Status screen_within() {
    const auto settings = screened_.begin(open());
    if (settings.empty() || !affords_trial()) return {};
    WM_ASSIGN(const auto result, trials_.screen_within(best_, settings));
    if (result.stopped) {
      stopped_ = true;
      decide("while screening: " + result.reason);
      return {};
    }
    if (!result.note.empty()) decide(result.note);
    for (const auto& decision : screened_.take(result.settings)) decide(decision);
    return {};
  }

  Status forward() {
    for (int i = 0; i < options_.most_trials && !stopped_; ++i) {
      if (best_changed_) {
        best_changed_ = false;
        WM_TRY(screen_within());
        if (stopped_) break;
      }
      const auto proposal = next();
      if (!proposal) {
        decide("no further knob is foretold to gain as much as matters");
        break;
      }
      if (!affords_trial()) {
        cut_short_ = true;
        decide("the rest of the budget is for the proof of what was found; the same command goes on with " +
               text_of({proposal->setting}));
        break;
      }
      tried_.insert(text_of({proposal->setting}));
      WM_TRY(trial(*proposal));
    }
    for (auto& step : screened_.discarded([&](const auto& name) { return tried_.contains(name); })) {
      journey_.steps.push_back(std::move(step));
    }
    return {};
  }

  Status trial(const Proposal& proposal) {
    JourneyStep step{.knob = proposal.setting.knob,
                     .value = proposal.setting.value,
                     .title = proposal.title,
                     .numerics = name_of(proposal.numerics),
                     .asked = proposal.asked,
                     .predicted = proposal.predicted,
                     .prior = prior_of(proposal.setting.knob)};
    if (const auto* known = screened_.known(proposal.setting)) step.screened = known->gain;
    const Settings candidate = with(best_, proposal.setting);
    const auto numerics = numerics_.with(proposal.numerics);  // answers are compared with the original's
    WM_ASSIGN(auto result, trials_.screen(best_, candidate, numerics));
    add_costs(result, step);
    std::optional<TrialResult> test;
    if (!result.stopped && result.failure.empty() && result.answers_same && result.promising) {
      WM_ASSIGN(test, trials_.compare(best_, candidate, numerics, false));
      add_costs(*test, step);
    }
    const TrialResult& last = test ? *test : result;
    if (last.stopped) {
      stopped_ = true;
      decide(fmt::format("{}={}: {}", step.knob, step.value, last.reason));
      return {};
    }
    judge_trial(last, test.has_value(), step);
    if (result.times_as_long >= kFarSlower) far_slower_.insert(step.knob);
    if (step.outcome == TrialOutcome::kept && proposal.numerics != Numerics::exact) WM_TRY(evaluate(candidate, step));
    if (stopped_) return {};
    decide(fmt::format("{}={}: {}, {}", step.knob, step.value, name_of(step.outcome), step.reason));
    const bool kept = step.outcome == TrialOutcome::kept;
    if (proposal.until_memory_ends) note_end(step);
    if (kept) keep(proposal, candidate, last, step);
    journey_.steps.push_back(std::move(step));
    // Nobody looks at what comes next where the rest of the budget is for the proof.
    return kept && affords_trial() ? look_again(last.facts) : Status();
  }

  void note_end(const JourneyStep& step) {
    int& ended = ended_[step.knob];
    const bool memory = step.outcome == TrialOutcome::failed && step.reason.find("memory") != std::string::npos;
    if (step.outcome == TrialOutcome::kept) {
      ended = 0;
    } else {
      ended = memory ? kEnded : ended + 1;
    }
    if (ended == kEnded) {
      decide(fmt::format("{}: no larger value is tried, {}", step.knob,
                         memory ? "memory ends here" : "two gained nothing"));
    }
  }

  /// What is faster must also be as good where the user said how to tell; whole runs are dear, so this comes last.
  Status evaluate(const Settings& candidate, JourneyStep& step) {
    WM_ASSIGN(const auto result, trials_.evaluate(candidate));
    add_costs(result, step);
    if (result.stopped) {
      stopped_ = true;
      decide(fmt::format("{}={}: {}", step.knob, step.value, result.reason));
      return {};
    }
    if (!result.answers_same) {
      step.outcome = TrialOutcome::rejected;
      step.reason = result.answers.text;
    } else if (!result.promising) {
      step.outcome = TrialOutcome::undecided;
      step.reason = result.answers.text;
    }
    if (!result.answers.text.empty()) step.answers = result.answers;
    return {};
  }

  /// What comes next follows the bottleneck that is left.
  Status look_again(const ProgramFacts& seen) {
    WM_ASSIGN(auto result, trials_.look(best_, seen));
    auto& step = journey_.steps.back();
    add_costs(result, step);
    if (result.stopped) {
      stopped_ = true;
      decide("while looking again: " + result.reason);
      return {};
    }
    if (!result.reason.empty()) decide(result.reason);
    for (const auto& text : put_kernels(result.kernels, kept_, journey_.steps)) decide(text);
    facts_ = std::move(result.facts);
    return {};
  }

  static void add_costs(const TrialResult& result, JourneyStep& step) {
    step.cost_s += result.cost_s;
    step.runs += result.runs;
  }

  void keep(const Proposal& proposal, const Settings& candidate, const TrialResult& result, JourneyStep& step) {
    so_far_ = product(so_far_, *result.speedup);
    step.cumulative = so_far_;
    step.measured = result.speedup;
    if (memory_ && result.memory_bytes) step.memory_saved_bytes = *memory_ - *result.memory_bytes;
    if (result.memory_bytes) memory_ = result.memory_bytes;
    for (const auto& [knob, index] : kept_) {
      if (knob == proposal.setting.knob) journey_.steps[index].reason += "; then replaced by " + step.value;
    }
    std::erase_if(kept_, [&](const auto& known) { return known.first == proposal.setting.knob; });
    kept_.emplace_back(proposal.setting.knob, journey_.steps.size());
    numerics_.add(proposal.numerics);
    best_ = candidate;
    best_changed_ = true;
  }

  /// Each kept knob against the final set without it. Dropped ones make the set smaller for those after them.
  Status leave_one_out() {
    const auto all = kept_;
    for (const auto& [knob, index] : all) {
      if (kept_.size() < 2) break;
      if (!trials_.affords(1 + kLastTest)) {
        cut_short_ = true;
        decide("the rest of the budget is for the last test");
        break;
      }
      const Settings rest = without(best_, knob);
      WM_ASSIGN(const auto result, trials_.compare(rest, best_, numerics_, true));
      auto& step = journey_.steps[index];
      add_costs(result, step);
      if (result.stopped) {
        stopped_ = true;
        return {};
      }
      if (result.speedup) step.measured = result.speedup;
      const bool holds = result.failure.empty() && result.verdict != Verdict::same && result.verdict != Verdict::worse;
      if (holds) {
        decide(
            fmt::format("without {} again: {}", knob, result.speedup ? interval_text(*result.speedup) : "undecided"));
        continue;
      }
      step.outcome = TrialOutcome::slower;
      step.reason = result.failure.empty()
                        ? "gains nothing beside the others: " + (result.speedup ? interval_text(*result.speedup) : "")
                        : "beside the others: " + result.failure;
      decide(fmt::format("{} is dropped, {}", knob, step.reason));
      best_ = rest;
      std::erase_if(kept_, [&, name = knob](const auto& known) { return known.first == name; });
    }
    return {};
  }

  Status final_test() {
    WM_ASSIGN(auto result, trials_.compare({}, best_, numerics_, true));
    if (result.stopped) {
      stopped_ = true;
      return {};
    }
    // What the machine disturbed tells nothing against what was kept, nor for it.
    if (result.failure.empty() && result.answers_same && result.verdict == Verdict::mistrusted) {
      final_ = result.verdict;
      journey_.mistrusted = result.reason;
      decide("the last test is mistrusted: " + result.reason);
      return {};
    }
    journey_.times_original_s = result.times_from_s;
    journey_.times_optimized_s = result.times_to_s;
    journey_.measured_speedup = result.speedup;
    double singles = 1;
    for (const auto& [knob, index] : kept_) {
      auto& step = journey_.steps[index];
      if (kept_.size() == 1) step.measured = result.speedup;  // the fresh confirmation
      if (step.measured) singles *= step.measured->ratio;
    }
    if (result.speedup && singles > 0) journey_.interaction = result.speedup->ratio / singles;
    // Leaving knobs out changed the set that was judged.
    if (kept_.size() > 1 && !numerics_.only_exact() && result.failure.empty() && result.answers_same) {
      WM_ASSIGN(const auto judged, trials_.evaluate(best_));
      stopped_ = judged.stopped;
      if (stopped_) return {};
      if (!judged.answers_same || !judged.promising) {
        result.answers_same = judged.answers_same;
        if (judged.answers_same) result.verdict = Verdict::inconclusive;
        result.answers = judged.answers;
      }
    }
    final_ = result.verdict;
    const bool gained = result.failure.empty() && result.answers_same && result.verdict == Verdict::better;
    if (gained) {
      journey_.optimized = optimized_state(journey_.baseline, result);
      decide(fmt::format("the original against {}: {}", text_of(best_), interval_text(*result.speedup)));
      return {};
    }
    const std::string why = !result.failure.empty()      ? result.failure
                            : !result.answers_same       ? result.answers.text
                            : result.speedup.has_value() ? interval_text(*result.speedup)
                                                         : result.reason;
    decide("the final test does not confirm it: " + why);
    if (result.failure.empty() && result.answers_same && result.verdict == Verdict::inconclusive) return {};
    for (const auto& [knob, index] : kept_) {
      auto& step = journey_.steps[index];
      step.outcome = !result.failure.empty() ? TrialOutcome::failed
                     : result.answers_same   ? TrialOutcome::slower
                                             : TrialOutcome::rejected;
      step.reason = "the final test does not confirm it: " + why;
    }
    kept_.clear();
    best_.clear();
    return {};
  }

  [[nodiscard]] std::string verdict() const {
    if (stopped_) return "stopped before the end; give the same command again to go on";
    if (kept_.empty() && cut_short_) return "nothing is proven within the budget; give the same command again to go on";
    if (kept_.empty()) return "nothing was gained: no knob that was tried is proven faster with the same answers";
    if (final_ == Verdict::better) {
      return fmt::format("{} faster, proven in fresh runs: {}", interval_text(*journey_.measured_speedup),
                         text_of(best_));
    }
    if (final_ == Verdict::mistrusted) {
      return fmt::format("the last test is mistrusted ({}): --prove with the plan, when the machine is quiet",
                         journey_.mistrusted);
    }
    return "knobs that won alone are not yet proven together: more rounds would decide";
  }

  Trials& trials_;
  ProgramFacts facts_;
  const SearchOptions& options_;
  Journey& journey_;
  Settings best_;
  std::vector<std::pair<std::string, std::size_t>> kept_;  ///< knob, index of its step
  static constexpr int kEnded = 2;
  static constexpr std::size_t kLastTest = 2;  ///< in tests: its runs are longer, and none of them has started before
  std::map<std::string, int> ended_;           ///< of knobs whose values grow: how many in turn gained nothing
  std::set<std::string> tried_;
  static constexpr double kFarSlower = 1.5;
  std::set<std::string> far_slower_;  ///< knobs with a value that took so many times as long: no other is tried
  ScreenedSettings screened_;
  bool best_changed_ = true;
  std::optional<SpeedUp> so_far_;
  std::optional<double> memory_;
  NumericsSet numerics_ = Numerics::exact;
  Verdict final_ = Verdict::inconclusive;
  bool stopped_ = false;
  bool cut_short_ = false;  ///< the budget left out knobs or tests, and what was found is proven
};

}  // namespace

Status search(Trials& trials, const ProgramFacts& baseline, const SearchOptions& options, Journey& journey) {
  return Search(trials, baseline, options, journey).run();
}

Status prove(Trials& trials, const ProgramFacts& baseline, const Settings& plan, const SearchOptions& options,
             Journey& journey) {
  return Search(trials, baseline, options, journey).prove(plan);
}

}  // namespace warpmark::optimize
