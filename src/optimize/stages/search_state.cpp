#include "optimize/stages/search_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "base/units.h"
#include "optimize/stages/optimization_states.h"
#include "optimize/stages/pair_test.h"

namespace warpmark::optimize {
namespace {

constexpr int kMostProofs = 3;  // of one plan, each with a setting less

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// "tf32=1, without fused": how each differs from the base.
std::string differences_text(const Settings& from, const std::vector<Variant>& variants) {
  std::vector<std::string> texts;
  for (const auto& variant : variants) {
    Settings added = variant.settings, removed = from;
    std::erase_if(added, [&](const Setting& one) { return value_of(from, one.knob) == one.value; });
    std::erase_if(removed, [&](const Setting& one) { return !value_of(variant.settings, one.knob).empty(); });
    if (!added.empty()) texts.push_back(text_of(added));
    if (added.empty() && !removed.empty()) texts.push_back("without " + text_of(removed));
  }
  return join(texts, ", ");
}

constexpr const char* kSource = "docs/results/analysis-2026-11-21.csv";

}  // namespace

bool is_compiled_in(std::string_view knob) {
  return knob == "tf32" || knob == "channels_last" || knob.starts_with("precision.") || knob.starts_with("attention.");
}

TrialOutcome without_gain(const std::optional<SpeedUp>& measured) {
  return measured && measured->high < 1 ? TrialOutcome::slower : TrialOutcome::no_gain;
}

std::string interval_text(const SpeedUp& speedup) {
  return fmt::format("{:.3g}x [{:.3g}, {:.3g}]", speedup.ratio, speedup.low, speedup.high);
}

void SearchState::decide(const std::string& text) {
  optimization.decisions.push_back(text);
  if (options.log) options.log(text);
}

void SearchState::stop(const std::string& why, const std::string& during) {
  stopped = true;
  why_stopped = why;
  decide(during.empty() ? why : during + ": " + why);
}

double SearchState::worth(const Proposal& proposal) {
  const double gain = std::sqrt(proposal.predicted.low * proposal.predicted.high) - 1;
  return (gain > 0 ? gain / proposal.risk : gain * proposal.risk) + (proposal.asked ? 1000 : 0);
}

std::vector<Proposal> SearchState::open_on(const Settings& settings) {
  std::vector<Proposal> found;
  for (auto& proposal : options.propose(facts, settings)) {
    if (tried.contains(text_of({proposal.setting}))) continue;
    if (value_of(settings, proposal.setting.knob) == proposal.setting.value) continue;
    if (!proposal.asked && proposal.predicted.high < 1 + options.effect) continue;
    const bool twice = std::ranges::any_of(found, [&](const auto& one) { return one.setting == proposal.setting; });
    if (!twice) found.push_back(std::move(proposal));
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return worth(a) > worth(b); });
  return found;
}

OptimizationStep& SearchState::step_of(const Proposal& proposal) {
  const auto [known, is_new] = steps_.try_emplace(text_of({proposal.setting}), optimization.steps.size());
  if (is_new) {
    optimization.steps.push_back({.knob = proposal.setting.knob,
                                  .value = proposal.setting.value,
                                  .title = proposal.title,
                                  .numerics = name_of(proposal.numerics),
                                  .asked = proposal.asked,
                                  .predicted = proposal.predicted,
                                  .prior = prior_of(proposal.setting.knob)});
  }
  return optimization.steps[known->second];
}

void SearchState::keep(const Proposal& proposal) {
  auto& step = step_of(proposal);
  step.outcome = TrialOutcome::kept;
  for (const auto& known : kept) {
    if (known.proposal.setting.knob != proposal.setting.knob) continue;
    optimization.steps[known.step].outcome = TrialOutcome::replaced;
    optimization.steps[known.step].reason = text_of({proposal.setting}) + " is faster";
  }
  std::erase_if(kept, [&](const auto& known) { return known.proposal.setting.knob == proposal.setting.knob; });
  kept.push_back({proposal, steps_.at(text_of({proposal.setting}))});
  best = with(best, proposal.setting);
  tried.insert(text_of({proposal.setting}));
}

void SearchState::drop(const std::string& knob, TrialOutcome outcome, const std::string& reason) {
  for (const auto& known : kept) {
    if (known.proposal.setting.knob != knob) continue;
    optimization.steps[known.step].outcome = outcome;
    optimization.steps[known.step].reason = reason;
    decide(fmt::format("{} removed: {}", text_of({known.proposal.setting}), reason));
  }
  best = without(best, knob);
  std::erase_if(kept, [&](const auto& known) { return known.proposal.setting.knob == knob; });
}

void SearchState::close(const Proposal& proposal, TrialOutcome outcome, const std::string& reason) {
  auto& step = step_of(proposal);
  step.outcome = outcome;
  step.reason = reason;
  tried.insert(text_of({proposal.setting}));
  decide(fmt::format("{}: {}, {}", text_of({proposal.setting}), words_of(outcome), reason));
}

NumericsSet SearchState::numerics() const {
  NumericsSet set = Numerics::exact;
  for (const auto& one : kept) set.add(one.proposal.numerics);
  return set;
}

double SearchState::expected_s(const Settings& from, const std::vector<Variant>& variants) const {
  const auto compiled = std::ranges::count_if(variants, [&](const Variant& variant) {
    if (value_of(variant.settings, kCompile).empty()) return false;
    return std::ranges::any_of(variant.settings, [&](const Setting& one) {
      return (one.knob == kCompile || is_compiled_in(one.knob)) && value_of(from, one.knob) != one.value;
    });
  });
  return trials.within_s(from, variants) + compile_s * static_cast<double>(compiled);
}

Result<WithinResult> SearchState::within(const Settings& from, const std::vector<Variant>& variants, bool decide_it) {
  if (const double seconds = expected_s(from, variants); seconds >= 1 && options.log) {
    options.log(fmt::format("testing {}: about {:.0f} s", differences_text(from, variants), seconds));
  }
  WM_ASSIGN(auto result, trials.within(from, variants, decide_it));
  if (result.stopped) {
    stop(result.reason);
  }
  if (!result.why_not.empty()) {
    available = false;
    decide(result.why_not);
  }
  if (result.draws) facts.draws = true;
  return result;
}

bool SearchState::affords(double seconds) const {
  return trials.left_s() >= seconds + trials.test_s();  // the plan is proven again in the end
}

bool SearchState::drop_riskiest(TrialOutcome outcome, const std::string& reason) {
  if (kept.size() < 2) return false;
  const auto risk = [](const Kept& one) {
    return std::pair(static_cast<int>(one.proposal.numerics), one.proposal.risk);
  };
  const auto worst = std::ranges::max_element(kept, {}, risk);
  drop(worst->proposal.setting.knob, outcome, reason);
  return true;
}

void SearchState::go_back(TrialOutcome outcome, const std::string& reason) {
  for (const auto& one : kept) {
    if (value_of(proven, one.proposal.setting.knob) == one.proposal.setting.value) continue;
    optimization.steps[one.step].outcome = outcome;
    optimization.steps[one.step].reason = reason;
  }
  best = proven;
  kept = proven_kept_;
  for (const auto& one : kept) {
    auto& step = optimization.steps[one.step];
    if (step.outcome != TrialOutcome::kept) step.reason.clear();  // why it was taken out does not hold
    step.outcome = TrialOutcome::kept;
  }
}

void SearchState::selected_further(const Settings& before, const TrialResult& result) {
  if (!selected_ || selected_->settings != before || !result.speedup) return;
  TrialResult joined = result;
  joined.speedup = product(selected_->result.speedup, *result.speedup);
  joined.times_from_s = selected_->result.times_from_s;
  selected_ = Selected{best, kept, std::move(joined)};
}

void SearchState::list_untested() {
  if (!stopped && !cut_short) return;
  const auto why =
      "not tested: " + (why_stopped.empty() ? std::string("the rest of the budget is too short") : why_stopped);
  for (const auto& proposal : open()) {
    auto& step = step_of(proposal);
    if (!step.reason.empty()) continue;
    step.outcome = TrialOutcome::undecided;
    step.reason = why;
  }
}

void SearchState::fall_back_on_selection() {
  if (proof || !selected_) return;
  proven = selected_->settings;
  proven_kept_ = selected_->kept;
  proof = selected_->result;
}

bool SearchState::is_slower_than_proven(const SpeedUp& now) const {
  return proof && proof->speedup && now.ratio < proof->speedup->ratio * (1 - kAsFast);
}

/// What is faster must also be as good where the user said how to measure that; whole runs are expensive, so this is
/// last.
Status SearchState::judge_quality(TrialResult& result) {
  if (numerics().only_exact()) return {};
  const bool judged_alone = kept.size() == 1 && optimization.steps[kept.front().step].answers.kind == "evaluation";
  if (judged_alone) return {};
  WM_ASSIGN(const auto judged, trials.evaluate(best));
  stopped = stopped || judged.stopped;
  if (stopped) return {};
  if (!judged.answers_same) result.answers_same = false;
  if (!judged.answers_known) result.verdict = Verdict::inconclusive;
  if (!judged.answers.text.empty()) result.answers = judged.answers;
  return {};
}

Status SearchState::prove() {
  for (int attempt = 0; attempt < kMostProofs && !stopped && !is_proven() && !best.empty(); ++attempt) {
    WM_ASSIGN(auto result, trials.compare({}, best_variant(), state_checked, true));
    if (result.stopped) {
      stop(result.reason);
      return {};
    }
    selected_.reset();
    const bool faster = result.failure.empty() && result.answers_same && result.verdict == Verdict::better;
    if (faster) WM_TRY(judge_quality(result));
    if (stopped) return {};
    if (!result.failure.empty() || !result.answers_same) {
      const auto outcome = result.failure.empty() ? TrialOutcome::rejected : TrialOutcome::failed;
      const auto why = result.failure.empty() ? result.answers.text : result.failure;
      if (kept.size() == 1) optimization.steps[kept.front().step].answers = result.answers;
      if (drop_riskiest(outcome, why)) continue;
      decide(fmt::format("{} not confirmed in fresh processes: {}", text_of(best), why));
      go_back(outcome, why);
      return {};
    }
    if (result.verdict == Verdict::better) {
      if (is_slower_than_proven(*result.speedup)) {
        const auto text = interval_text(*result.speedup);
        decide(fmt::format("{} with {}: the plan proven before is faster and stays", text, text_of(best)));
        go_back(TrialOutcome::no_gain, "fresh processes: " + text + " with it, more without");
        return {};
      }
      proven = best;
      proven_kept_ = kept;
      proof = std::move(result);
      const double left = trials.left_s();
      decide(fmt::format("after {}: {} with {}{}", format_seconds(trials.spent_s()), interval_text(*proof->speedup),
                         text_of(best), std::isfinite(left) ? fmt::format("; {} left", clock_text(left)) : ""));
      return {};
    }
    const auto text = result.speedup ? interval_text(*result.speedup) : result.reason;
    decide(fmt::format("{} not confirmed in fresh processes: {}", text_of(best), text));
    if (result.verdict == Verdict::unreliable) optimization.unreliable = result.reason;
    const bool open = result.verdict == Verdict::inconclusive || result.verdict == Verdict::unreliable;
    if (open && proven.empty()) {
      likely.reset();  // fresh processes did not confirm it
      for (const auto& one : kept) optimization.steps[one.step].reason = "not decided in fresh processes: " + text;
      optimization.times_original_s = result.times_from_s;
      optimization.times_optimized_s = result.times_to_s;
      return {};
    }
    go_back(open ? TrialOutcome::undecided : without_gain(result.speedup), "fresh processes: " + text);
    return {};
  }
  return {};
}

std::span<const TechniquePrior> priors() {
  // bottleneck, programs, median, lower and upper quartile, range of guides. A test computes them again.
  static const TechniquePrior kPriors[] = {
      {"data_loading", 76, 3.20, 2.19, 4.84, 1.1, 1.3, kSource},
      {"precision", 80, 3.08, 2.02, 4.50, 1.4, 1.8, kSource},
      {"launch_overhead", 81, 5.26, 3.39, 7.67, 1.3, 2, kSource},
      {"attention", 67, 2.88, 2.33, 3.79, 1.3, 1.6, kSource},
      {"memory_bandwidth", 66, 3.00, 1.90, 6.29, std::nullopt, std::nullopt, kSource},
      {"optimizer", 58, 1.50, 1.33, 1.73, std::nullopt, std::nullopt, kSource},
      {"host_transfer", 74, 2.71, 1.81, 4.31, std::nullopt, std::nullopt, kSource},
      {"multi_gpu_comm", 106, 1.46, 1.22, 2.01, 1.1, 1.2, kSource},
      {"memory_allocation", 46, 1.69, 1.31, 4.02, std::nullopt, std::nullopt, kSource},
      {"cpu_gpu_sync", 81, 1.57, 1.26, 2.86, 1.05, 1.15, kSource},
  };
  return kPriors;
}

std::optional<TechniquePrior> prior_of(std::string_view id) {
  const Knob* knob = find_in(knobs(), id);
  if (knob == nullptr) return std::nullopt;
  // Checkpointing is answer to the same finding, but it makes room and takes time; no program has its flaw in how its
  // process is set up.
  if (id == "checkpoint.blocks" || id.starts_with("process.") || id.starts_with("python.")) return std::nullopt;
  const auto answers = split(knob->answers, ' ');
  if (answers.empty()) return std::nullopt;
  const std::string rule = answers.front().substr(0, answers.front().find(':'));
  const auto all = priors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& prior) { return prior.bottleneck == rule; });
  if (found == all.end()) return std::nullopt;
  return *found;
}

}  // namespace warpmark::optimize
