// Optimization as JSON, "warpmark.optimization/1". Written only.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_fields.h"
#include "model/optimization.h"

namespace warpmark {
namespace {

Json speedup_json(const SpeedUp& speedup) {
  return {{"ratio", finite_number(speedup.ratio)},
          {"low", finite_number(speedup.low)},
          {"high", finite_number(speedup.high)},
          {"confidence", finite_number(speedup.confidence)}};
}

Json prediction_json(const Prediction& prediction) {
  Json json{{"low", finite_number(prediction.low)}, {"high", finite_number(prediction.high)}};
  put_text(json, "method", prediction.method);
  return json;
}

Json prior_json(const TechniquePrior& prior) {
  Json json{{"bottleneck", prior.bottleneck},        {"programs", prior.programs},
            {"median", finite_number(prior.median)}, {"low", finite_number(prior.low)},
            {"high", finite_number(prior.high)},     {"source", prior.source}};
  put_optional(json, "guide_low", prior.guide_low);
  put_optional(json, "guide_high", prior.guide_high);
  return json;
}

Json step_json(const OptimizationStep& step) {
  Json json{{"knob", step.knob},
            {"value", step.value},
            {"title", step.title},
            {"numerics", step.numerics},
            {"outcome", name_of(step.outcome)},
            {"reason", step.reason},
            {"asked", step.asked}};
  put_text(json, "kernels", step.kernels);
  if (step.predicted) json["predicted"] = prediction_json(*step.predicted);
  if (step.prior) json["prior"] = prior_json(*step.prior);
  if (step.in_process) json["in_process"] = speedup_json(*step.in_process);
  if (step.measured) json["measured"] = speedup_json(*step.measured);
  if (step.found) json["found"] = speedup_json(*step.found);
  if (step.cumulative) json["cumulative"] = speedup_json(*step.cumulative);
  Json loss{{"kind", step.answers.kind},
            {"difference", finite_number(step.answers.difference)},
            {"allowed", finite_number(step.answers.allowed)}};
  put_text(loss, "text", step.answers.text);
  json["loss"] = loss;
  Json memory = Json::object();
  put_optional(memory, "bytes", step.memory_bytes);
  put_optional(memory, "saved_bytes", step.memory_saved_bytes);
  json["memory"] = memory;
  json["cost"] = {{"seconds", finite_number(step.cost_s)}, {"runs", step.runs}};
  json["samples"] = {{"without_s", step.times_before_s}, {"with_s", step.times_with_s}};
  return json;
}

Json state_json(const OptimizationState& state) {
  Json json{{"seconds_per_step", finite_number(state.seconds_per_step)},
            {"spread", finite_number(state.spread)},
            {"steps", state.steps},
            {"start_s", finite_number(state.start_s)}};
  put_optional(json, "samples_per_s", state.samples_per_s);
  put_optional(json, "memory_bytes", state.memory_bytes);
  put_optional(json, "gpu_utilization", state.gpu_utilization);
  put_optional(json, "joules_per_step", state.joules_per_step);
  Json phases = Json::object();
  for (const auto& [name, share] : state.phases) phases[name] = finite_number(share);
  json["phases"] = phases;
  return json;
}

Json plan_json(const Optimization& optimization) {
  Json plan = Json::object();
  for (const auto& [knob, value] : optimization.plan) plan[knob] = value;
  return plan;
}

Json advice_json(const OptimizationAdvice& advice) {
  Json json{{"text", advice.text}, {"proven", false}};
  put_text(json, "where", advice.where);
  put_text(json, "code", advice.code);
  if (advice.predicted) json["predicted"] = prediction_json(*advice.predicted);
  return json;
}

Json finding_json(const OptimizationFinding& finding) {
  Json json{{"rule", finding.rule},
            {"title", finding.title},
            {"severity", finite_number(finding.severity)},
            {"gain", {{"low", finite_number(finding.low)}, {"high", finite_number(finding.high)}}}};
  put_text(json, "where", finding.where);
  return json;
}

Json training_json(const TrainingCost& training) {
  Json json{{"days", finite_number(training.days)}};
  put_optional(json, "cost", training.cost);
  return json;
}

}  // namespace

const char* name_of(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kept: return "kept";
    case TrialOutcome::rejected: return "rejected";
    case TrialOutcome::no_gain: return "no_gain";
    case TrialOutcome::slower: return "slower";
    case TrialOutcome::failed: return "failed";
    case TrialOutcome::undecided: return "undecided";
  }
  return "unknown";
}

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
  if ((goal.days && !training) || !priced) add(false, "the time of the training is not known");
  return verdict;
}

Json to_json(const Optimization& optimization) {
  Json json{{"schema", kOptimizationSchema},   {"id", optimization.id},
            {"started", optimization.started}, {"command", optimization.command},
            {"program", optimization.program}, {"complete", optimization.complete},
            {"verdict", optimization.verdict}, {"stopped_because", optimization.stopped_because},
            {"times_of", optimization.unit}};
  put_text(json, "torch", optimization.torch);
  put_text(json, "device", optimization.device);
  json["ranks"] = optimization.ranks;
  put_text(json, "unreliable", optimization.unreliable);
  json["baseline"] = state_json(optimization.baseline);
  if (optimization.optimized) json["optimized"] = state_json(*optimization.optimized);
  json["steps"] = Json::array();
  json["optimizations_applied"] = Json::array();
  for (const auto& step : optimization.steps) {
    json["steps"].push_back(step_json(step));
  }
  for (const auto& [knob, value] : optimization.plan) json["optimizations_applied"].push_back(knob + "=" + value);
  if (optimization.measured_speedup) json["measured_speedup"] = speedup_json(*optimization.measured_speedup);
  if (optimization.likely_speedup) json["likely_speedup"] = speedup_json(*optimization.likely_speedup);
  put_optional(json, "interaction", optimization.interaction);
  if (optimization.baseline.memory_bytes && optimization.optimized && optimization.optimized->memory_bytes) {
    json["memory_saved"] = finite_number(*optimization.baseline.memory_bytes - *optimization.optimized->memory_bytes);
  }
  if (const auto before = training_cost(optimization, optimization.baseline)) {
    json["training"] = {{"steps", *optimization.train_steps}, {"original", training_json(*before)}};
    if (optimization.optimized) {
      const auto after = training_cost(optimization, *optimization.optimized);
      if (after) json["training"]["optimized"] = training_json(*after);
    }
  }
  if (const auto goal = judge_goal(optimization)) json["goal"] = {{"met", goal->met}, {"text", goal->text}};
  json["plan"] = plan_json(optimization);
  json["new_config"] = plan_json(optimization);
  json["samples"] = {{"original_s", optimization.times_original_s}, {"optimized_s", optimization.times_optimized_s}};
  json["advice"] = Json::array();
  for (const auto& advice : optimization.advice) json["advice"].push_back(advice_json(advice));
  json["findings"] = Json::array();
  for (const auto& finding : optimization.findings) json["findings"].push_back(finding_json(finding));
  json["decisions"] = optimization.decisions;
  json["cost"] = {{"seconds", finite_number(optimization.spent_s)}, {"runs", optimization.runs}};
  if (optimization.price_per_hour)
    json["cost"]["money"] = finite_number(*optimization.price_per_hour * optimization.spent_s / 3600);
  json["machine"] = to_json(optimization.machine);
  json["build"] = to_json(optimization.build);
  return json;
}

}  // namespace warpmark
