// Optimization as JSON, "warpmark.optimization/1".
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/optimization.h"
#include "model/price/price.h"

namespace warpmark {
namespace {

constexpr const char* kFactor = "A factor; above 1 is faster.";

constexpr Field kSpeedUpFields[] = {
    field<&SpeedUp::ratio>("ratio").within(kPositive),
    field<&SpeedUp::low>("low").within(kPositive),
    field<&SpeedUp::high>("high").within(kPositive),
    field<&SpeedUp::confidence>("confidence").within(kShare),
};
constexpr RecordOf<SpeedUp> kSpeedUp{"speedup", kFactor, kSpeedUpFields};

constexpr Field kPredictionFields[] = {
    field<&Prediction::low>("low").within(kPositive),
    field<&Prediction::high>("high").within(kPositive),
    field<&Prediction::method>("method").unless_empty(),
};
constexpr RecordOf<Prediction> kPrediction{"prediction", kFactor, kPredictionFields};

constexpr Field kPriorFields[] = {
    field<&TechniquePrior::bottleneck>("bottleneck", "The finding that the technique answers."),
    field<&TechniquePrior::programs>("programs", "That have it, each measured before and after a manual fix.")
        .within(kAtLeastOne),
    field<&TechniquePrior::median>("median", "Of their gains.").within(kPositive),
    field<&TechniquePrior::low>("low", "Half of them lie between this ...").within(kPositive),
    field<&TechniquePrior::high>("high", "... and this.").within(kPositive),
    field<&TechniquePrior::source>("source", "Of the programs' gains."),
    field<&TechniquePrior::guide_low>("guide_low", "What guides say.").within(kPositive),
    field<&TechniquePrior::guide_high>("guide_high").within(kPositive),
};
constexpr RecordOf<TechniquePrior> kPrior{"prior", "Gain of a manual fix of the bottleneck in other programs.",
                                          kPriorFields};

constexpr Field kAnswersFields[] = {
    field<&AnswerCheck::kind>("kind", "state, losses, outputs, samples, evaluation, none"),
    field<&AnswerCheck::difference>("difference", "The largest that was judged, as a ratio.").within(kNonNegative),
    field<&AnswerCheck::allowed>("allowed").within(kNonNegative),
    field<&AnswerCheck::text>("text").unless_empty(),
};
constexpr RecordOf<AnswerCheck> kAnswers{"answers", "Whether the answers were the same.", kAnswersFields};

using Step = OptimizationStep;

constexpr Field kStepMemoryFields[] = {
    field<&Step::memory_bytes>("bytes", "Most with it, of the GPU where there is one."),
    field<&Step::memory_saved_bytes>("saved_bytes", "How much less than before it."),
};
constexpr RecordOf<Step> kStepMemory{"step_memory", "", kStepMemoryFields};

constexpr Field kStepCostFields[] = {
    field<&Step::cost_s>("seconds"),
    field<&Step::runs>("runs"),
};
constexpr RecordOf<Step> kStepCost{"step_cost", "Of trying it.", kStepCostFields};

constexpr Field kStepSamplesFields[] = {
    field<&Step::times_before_s>("without_s"),
    field<&Step::times_with_s>("with_s"),
};
constexpr RecordOf<Step> kStepSamples{"step_samples", "Raw, one a round: seconds a sample or a step.",
                                      kStepSamplesFields};

constexpr Field kStepFields[] = {
    field<&Step::knob>("knob"),
    field<&Step::value>("value"),
    field<&Step::title>("title", "What it changes, a few words."),
    field<&Step::numerics>("numerics")
        .ruled(R"({"enum": ["exact", "rounding", "random_streams", "precision", "semantic"]})"),
    field<&Step::outcome>("outcome"),
    field<&Step::reason>("reason"),
    field<&Step::asked>("asked", "The user named the setting."),
    field<&Step::kernels>("kernels", "Of a recording with it: in how many kernels it showed.").unless_empty(),
    field<&Step::predicted>("predicted", "", kPrediction),
    field<&Step::prior>("prior", "", kPrior),
    field<&Step::in_process>("in_process",
                             "By blocks of steps in one process: of a kept setting what it gains next to the others. "
                             "Selects; does not prove.",
                             kSpeedUp),
    field<&Step::measured>("measured", "Of a kept setting, by fresh processes.", kSpeedUp),
    field<&Step::found>("found", "By the fresh processes that selected it.", kSpeedUp),
    field<&Step::cumulative>("cumulative", "Of this and all settings before it together.", kSpeedUp),
    field<&Step::answers>("loss", "", kAnswers),
    group("memory", "", kStepMemory),
    group("cost", "", kStepCost),
    group("samples", "", kStepSamples),
};
constexpr RecordOf<Step> kStep{"optimization_step", "One setting that was tried on top of the best so far.",
                               kStepFields};

using Share = std::pair<std::string, double>;

constexpr Field kStateFields[] = {
    field<&OptimizationState::seconds_per_step>("seconds_per_step").within(kNonNegative),
    field<&OptimizationState::spread>("spread", "Standard deviation of the logarithm of repeated runs' times.")
        .within(kNonNegative),
    field<&OptimizationState::steps>("steps", "Measured in a run.").within(kNonNegative),
    field<&OptimizationState::start_s>("start_s", "From the import of torch to the first measured step.")
        .within(kNonNegative),
    field<&OptimizationState::samples_per_s>("samples_per_s").within(kNonNegative),
    field<&OptimizationState::memory_bytes>("memory_bytes").within(kNonNegative),
    field<&OptimizationState::gpu_utilization>("gpu_utilization", "While steps were measured; mean over the GPUs used.")
        .within(kShare),
    field<&OptimizationState::evaluation_share>("evaluation_share",
                                                "Of the time of the run, where known; its steps are not counted.")
        .within(kShare),
    field<&OptimizationState::joules_per_step>("joules_per_step", "Energy of all GPUs used, while steps were measured.")
        .within(kNonNegative),
    keyed<&OptimizationState::phases, &Share::first, &Share::second>(
        "phases", "Shares of a step: data, forward, backward, optimizer, rest."),
};
constexpr RecordOf<OptimizationState> kState{"state", "", kStateFields};

constexpr Field kAdviceFields[] = {
    field<&OptimizationAdvice::text>("text"),
    derived("proven", "", [](const OptimizationAdvice& /*advice*/) { return false; }),
    field<&OptimizationAdvice::where>("where", "FILE:LINE.").unless_empty(),
    field<&OptimizationAdvice::code>("code").unless_empty(),
    field<&OptimizationAdvice::predicted>("predicted", "", kPrediction),
};
constexpr RecordOf<OptimizationAdvice> kAdvice{"advice", "For a person to do.", kAdviceFields};

constexpr Field kFoundGainFields[] = {
    field<&OptimizationFinding::low>("low"),
    field<&OptimizationFinding::high>("high"),
};
constexpr RecordOf<OptimizationFinding> kFoundGain{"finding_gain", "Replayed without it; not proven.",
                                                   kFoundGainFields};

constexpr Field kFoundFields[] = {
    field<&OptimizationFinding::rule>("rule"),
    field<&OptimizationFinding::title>("title", "One line."),
    field<&OptimizationFinding::severity>("severity").within(kShare),
    group("gain", "", kFoundGain),
    field<&OptimizationFinding::where>("where", "FILE:LINE.").unless_empty(),
};
constexpr RecordOf<OptimizationFinding> kFound{"optimization_finding", "", kFoundFields};

constexpr Field kTrainingCostFields[] = {
    field<&TrainingCost::days>("days").within(kNonNegative),
    field<&TrainingCost::cost>("cost", "Where the price of an hour is known.").within(kNonNegative),
};
constexpr RecordOf<TrainingCost> kTrainingCost{"training_cost", "", kTrainingCostFields};

constexpr Field kTrainingFields[] = {
    derived("steps", "", [](const Optimization& all) { return *all.train_steps; }).within(kNonNegative),
    derived("original", "", kTrainingCost, [](const Optimization& all) { return *training_cost(all, all.baseline); }),
    derived("optimized", "", kTrainingCost,
            [](const Optimization& all) { return all.optimized ? training_cost(all, *all.optimized) : std::nullopt; }),
};
constexpr RecordOf<Optimization> kTraining{
    "training", "The whole training of --train-steps: days, and at --price the cost.", kTrainingFields};

constexpr Field kGoalVerdictFields[] = {
    field<&GoalVerdict::met>("met"),
    field<&GoalVerdict::text>("text", "What was reached of each goal."),
};
constexpr RecordOf<GoalVerdict> kGoalVerdict{"goal", "Of --goal, --goal-days and --goal-cost.", kGoalVerdictFields};

constexpr Field kSamplesFields[] = {
    field<&Optimization::times_original_s>("original_s"),
    field<&Optimization::times_optimized_s>("optimized_s"),
};
constexpr RecordOf<Optimization> kSamples{"samples", "Raw times of the last test, one a round.", kSamplesFields};

constexpr Field kOptimizationCostFields[] = {
    field<&Optimization::spent_s>("seconds"),
    field<&Optimization::runs>("runs"),
    derived("money", "",
            [](const Optimization& all) {
              return all.price_per_hour ? std::optional(*all.price_per_hour * all.spent_s / 3600) : std::nullopt;
            }),
};
constexpr RecordOf<Optimization> kOptimizationCost{"cost", "", kOptimizationCostFields};

using Setting = std::pair<std::string, std::string>;

std::vector<std::string> applied(const Optimization& all) {
  std::vector<std::string> settings;
  for (const auto& [knob, value] : all.plan) settings.push_back(knob + "=" + value);
  return settings;
}

std::optional<double> memory_saved(const Optimization& all) {
  if (!all.baseline.memory_bytes || !all.optimized || !all.optimized->memory_bytes) return std::nullopt;
  return *all.baseline.memory_bytes - *all.optimized->memory_bytes;
}

constexpr Field kOptimizationFields[] = {
    field<&Optimization::id>("id"),
    field<&Optimization::started>("started", "UTC."),
    field<&Optimization::command>("command"),
    field<&Optimization::program>("program", "The command that was optimized."),
    field<&Optimization::complete>("complete", "False when interrupted or out of its budget."),
    field<&Optimization::verdict>("verdict", "One sentence."),
    field<&Optimization::stopped_because>("stopped_because"),
    field<&Optimization::unit>("times_of").ruled(R"({"enum": ["sample", "step", "run"]})"),
    field<&Optimization::torch>("torch").unless_empty(),
    field<&Optimization::device>("device").unless_empty(),
    field<&Optimization::ranks>("ranks", "Processes that train together.").within(kAtLeastOne),
    field<&Optimization::unreliable>("unreliable", "Why the last test is not believed; absent where it is.")
        .unless_empty(),
    field<&Optimization::baseline>("baseline", "", kState),
    field<&Optimization::optimized>("optimized", "", kState),
    field<&Optimization::steps>("steps", "In the order tried.", kStep),
    derived("optimizations_applied", "", [](const Optimization& all) { return applied(all); }),
    field<&Optimization::measured_speedup>("measured_speedup",
                                           "The original against the whole plan, in fresh processes.", kSpeedUp),
    field<&Optimization::likely_speedup>(
        "likely_speedup", "Of a plan that fresh processes have not proven: by blocks of steps in one process.",
        kSpeedUp),
    field<&Optimization::interaction>("interaction", "Measured speedup over the product of the single ones."),
    derived("memory_saved", "Bytes.", [](const Optimization& all) { return memory_saved(all); }),
    group("training", "", kTraining).when([](const Optimization& all) {
      return training_cost(all, all.baseline).has_value();
    }),
    derived("goal", "", kGoalVerdict, [](const Optimization& all) { return judge_goal(all); }),
    keyed<&Optimization::plan, &Setting::first, &Setting::second>("plan", "The kept settings."),
    keyed<&Optimization::plan, &Setting::first, &Setting::second>("new_config", "The same as plan."),
    group("samples", "", kSamples),
    field<&Optimization::advice>("advice", "", kAdvice),
    field<&Optimization::findings>(
        "findings", "Bottlenecks that the analysis found in a recording of the original, worst first.", kFound),
    field<&Optimization::recorded_seconds_per_step>(
        "recorded_seconds_per_step", "Of the original while the findings were recorded, with what recording cost."),
    field<&Optimization::decisions>("decisions", "The log: each decision with its reason."),
    group("cost", "", kOptimizationCost),
    field<&Optimization::machine>("machine", "", kMachine),
    field<&Optimization::build>("build", "", kBuild),
};

constexpr Field kPricedOptimizationFields[] = {
    derived(
        nullptr, "", kUnpricedOptimization,
        [](const PricedOptimization& priced) -> const auto& { return priced.optimization; }),
    field<&PricedOptimization::monthly>(
        "monthly", "Of --monthly-cost: what a month costs before and after, and what that saves, with its interval.",
        kMonthlySaving),
};

}  // namespace

constexpr RecordOf<Optimization> kUnpricedOptimization{"optimization", "", kOptimizationFields, kOptimizationSchema};

constexpr RecordOf<PricedOptimization> kOptimization{
    "priced_optimization",
    "What `warpmark optimize --json` writes: what was tried on a program, what was kept, and what it gained.",
    kPricedOptimizationFields, kOptimizationSchema};

std::string words_of(TrialOutcome outcome) {
  std::string words = name_of(outcome);
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::optional<TrainingCost> training_cost(const Optimization& optimization, const OptimizationState& state) {
  if (!optimization.train_steps || !(state.seconds_per_step > 0) || optimization.unit == "run") return std::nullopt;
  const double seconds = state.start_s + *optimization.train_steps * state.seconds_per_step;
  TrainingCost cost{.days = seconds / 86400, .cost = std::nullopt};
  if (optimization.price_per_hour) cost.cost = *optimization.price_per_hour * seconds / 3600;
  return cost;
}

std::optional<GoalVerdict> judge_goal(const Optimization& optimization) {
  const auto& goal = optimization.goal;
  if (!goal.given()) return std::nullopt;
  const auto& state = optimization.optimized ? *optimization.optimized : optimization.baseline;
  const auto training = training_cost(optimization, state);
  GoalVerdict verdict{.met = true};
  const auto add = [&](bool met, const std::string& text) {
    verdict.met = verdict.met && met;
    verdict.text += (verdict.text.empty() ? "" : "; ") + text;
  };
  if (goal.speedup) {
    const double reached = optimization.measured_speedup ? optimization.measured_speedup->ratio : 1;
    add(reached >= *goal.speedup, fmt::format("{:.3g}x of {:.3g}x", reached, *goal.speedup));
  }
  if (goal.days && training) {
    add(training->days <= *goal.days, fmt::format("{:.3g} days (limit: {:.3g})", training->days, *goal.days));
  }
  if (goal.cost && training && training->cost) {
    add(*training->cost <= *goal.cost, fmt::format("costs {:.4g} (limit: {:.4g})", *training->cost, *goal.cost));
  }
  const bool priced = !goal.cost || (training && training->cost);
  if ((goal.days && !training) || !priced) add(false, "the time of the training is unknown");
  return verdict;
}

Json to_json(const Optimization& optimization) { return write(kUnpricedOptimization, optimization); }
Json to_json(const PricedOptimization& optimization) { return write(kOptimization, optimization); }

}  // namespace warpmark
