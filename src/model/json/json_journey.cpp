// Journey as JSON, "warpmark.journey/1". Written only.
#include <fmt/format.h>

#include "base/json.h"
#include "model/journey.h"
#include "model/json/json.h"
#include "model/json/json_fields.h"

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

Json step_json(const JourneyStep& step) {
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

Json state_json(const JourneyState& state) {
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

Json plan_json(const Journey& journey) {
  Json plan = Json::object();
  for (const auto& [knob, value] : journey.plan) plan[knob] = value;
  return plan;
}

Json advice_json(const JourneyAdvice& advice) {
  Json json{{"text", advice.text}, {"proven", false}};
  put_text(json, "where", advice.where);
  put_text(json, "code", advice.code);
  if (advice.predicted) json["predicted"] = prediction_json(*advice.predicted);
  return json;
}

Json finding_json(const JourneyFinding& finding) {
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
    case TrialOutcome::slower: return "slower";
    case TrialOutcome::failed: return "failed";
    case TrialOutcome::undecided: return "undecided";
  }
  return "unknown";
}

std::optional<TrainingCost> training_cost(const Journey& journey, const JourneyState& state) {
  if (!journey.train_steps || !(state.seconds_per_step > 0) || journey.unit == "run") return std::nullopt;
  const double seconds = state.start_s + *journey.train_steps * state.seconds_per_step;
  TrainingCost cost{.days = seconds / 86400, .cost = std::nullopt};
  if (journey.price_per_hour) cost.cost = *journey.price_per_hour * seconds / 3600;
  return cost;
}

std::optional<GoalVerdict> judge_goal(const Journey& journey) {
  const auto& goal = journey.goal;
  if (!goal.given()) return std::nullopt;
  const auto& state = journey.optimized ? *journey.optimized : journey.baseline;
  const auto training = training_cost(journey, state);
  GoalVerdict verdict{.met = true};
  const auto add = [&](bool met, const std::string& text) {
    verdict.met = verdict.met && met;
    verdict.text += (verdict.text.empty() ? "" : "; ") + text;
  };
  if (goal.speedup) {
    const double reached = journey.measured_speedup ? journey.measured_speedup->ratio : 1;
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

Json to_json(const Journey& journey) {
  Json json{{"schema", kJourneySchema},   {"id", journey.id},
            {"started", journey.started}, {"command", journey.command},
            {"program", journey.program}, {"complete", journey.complete},
            {"verdict", journey.verdict}, {"stopped_because", journey.stopped_because},
            {"times_of", journey.unit}};
  put_text(json, "torch", journey.torch);
  put_text(json, "device", journey.device);
  json["ranks"] = journey.ranks;
  put_text(json, "unreliable", journey.unreliable);
  json["baseline"] = state_json(journey.baseline);
  if (journey.optimized) json["optimized"] = state_json(*journey.optimized);
  json["steps"] = Json::array();
  json["optimizations_applied"] = Json::array();
  for (const auto& step : journey.steps) {
    json["steps"].push_back(step_json(step));
  }
  for (const auto& [knob, value] : journey.plan) json["optimizations_applied"].push_back(knob + "=" + value);
  if (journey.measured_speedup) json["measured_speedup"] = speedup_json(*journey.measured_speedup);
  if (journey.likely_speedup) json["likely_speedup"] = speedup_json(*journey.likely_speedup);
  put_optional(json, "interaction", journey.interaction);
  if (journey.baseline.memory_bytes && journey.optimized && journey.optimized->memory_bytes) {
    json["memory_saved"] = finite_number(*journey.baseline.memory_bytes - *journey.optimized->memory_bytes);
  }
  if (const auto before = training_cost(journey, journey.baseline)) {
    json["training"] = {{"steps", *journey.train_steps}, {"original", training_json(*before)}};
    if (journey.optimized) {
      const auto after = training_cost(journey, *journey.optimized);
      if (after) json["training"]["optimized"] = training_json(*after);
    }
  }
  if (const auto goal = judge_goal(journey)) json["goal"] = {{"met", goal->met}, {"text", goal->text}};
  json["plan"] = plan_json(journey);
  json["new_config"] = plan_json(journey);
  json["samples"] = {{"original_s", journey.times_original_s}, {"optimized_s", journey.times_optimized_s}};
  json["advice"] = Json::array();
  for (const auto& advice : journey.advice) json["advice"].push_back(advice_json(advice));
  json["findings"] = Json::array();
  for (const auto& finding : journey.findings) json["findings"].push_back(finding_json(finding));
  json["decisions"] = journey.decisions;
  json["cost"] = {{"seconds", finite_number(journey.spent_s)}, {"runs", journey.runs}};
  if (journey.price_per_hour) json["cost"]["money"] = finite_number(*journey.price_per_hour * journey.spent_s / 3600);
  json["machine"] = to_json(journey.machine);
  json["build"] = to_json(journey.build);
  return json;
}

}  // namespace warpmark
