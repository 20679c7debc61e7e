// Which loads are measured: scenarios times levels times batch sizes and turns.
#include <fmt/format.h>

#include <random>

#include "base/units.h"
#include "loadtest/prepare.h"

namespace warpmark::loadtest {
namespace {

using serving::ArrivalKind;
using serving::Traffic;

constexpr const char* kDefaultScenarios[][2] = {{"text-to-text", "D(100,100)"},
                                                {"image-text-to-text", "I(512,512)"},
                                                {"text-to-embeddings", "E(256)"},
                                                {"text-to-rerank", "R(256,100)"}};

/// What all steps have in common.
Result<Traffic> traffic_of(const LoadRequest& request) {
  const LevelsRequest& levels = request.levels;
  Traffic traffic = request.traffic;
  if (traffic.duration_s == 0 && traffic.most_requests == 0) traffic.duration_s = 60;
  traffic.seed = traffic.shared_seed = levels.seed.value_or(std::random_device()());
  if (traffic.conversations.chained && request.server.bases.size() < 2) {
    return usage_error("--chain needs several servers", "--api-base URL, once for each");
  }
  if (!levels.dataset.empty()) {
    WM_ASSIGN(traffic.dataset, serving::read_dataset(levels.dataset, {.column = levels.dataset_column}));
  }
  if (!levels.trace.empty()) {
    WM_ASSIGN(traffic.trace, serving::read_trace(levels.trace));
    traffic.arrivals.kind = ArrivalKind::trace;
  }
  return traffic;
}

Result<std::vector<serving::Scenario>> scenarios_of(const LevelsRequest& levels, const Traffic& traffic,
                                                    const char* task) {
  auto texts = levels.scenarios;
  if (texts.empty() && !traffic.dataset.empty()) texts.push_back("dataset");
  if (texts.empty()) {
    for (const auto& row : kDefaultScenarios) {
      if (std::string_view(row[0]) == task) texts.push_back(row[1]);
    }
  }
  std::vector<serving::Scenario> scenarios;
  for (const auto& text : texts) {
    WM_ASSIGN(auto scenario, serving::parse_scenario(text));
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

/// Every step once for each of these values.
template <typename Field>
std::vector<LoadStep> multiplied(std::vector<LoadStep> steps, const std::vector<std::int64_t>& values, Field field) {
  if (values.empty()) return steps;
  std::vector<LoadStep> all;
  for (const auto& step : steps) {
    for (const auto value : values) {
      all.push_back(step);
      field(all.back().traffic) = value;
    }
  }
  return all;
}

std::map<std::string, std::string> parameters_of(const LoadRequest& request, const LoadStep& step) {
  std::map<std::string, std::string> parameters;
  const auto take = [&](const char* name) {
    const auto found = request.given.find(name);
    if (found == request.given.end()) return;
    const std::string& value = found->second.back();
    parameters[std::string(name).substr(2)] = value.empty() ? "yes" : value;
  };
  for (const char* name : {"--prefix-len", "--prefix-ratio", "--dataset-path", "--trace", "--trace-speed", "--eval",
                           "--no-stream", "--new-connections", "--additional-request-params"}) {
    take(name);
  }
  const bool turns = step.traffic.conversations.turns > 1;
  for (const char* name : {"--think-time", "--tool-time", "--chain"}) {
    if (turns) take(name);
  }
  take(step.traffic.arrivals.kind == ArrivalKind::closed ? "--spawn-rate" : "--max-in-flight");
  return parameters;
}

}  // namespace

Result<double> parse_run_time(const std::string& text) {
  const auto minutes = parse_number(text);
  WM_ASSIGN(const double seconds, minutes.ok() ? Result<double>(*minutes * 60) : parse_duration_s(text));
  if (seconds > 0) return seconds;
  return usage_error("--max-time-per-run must be above 0", "minutes, or with a unit: 30s");
}

Result<std::vector<LoadStep>> steps_of(const LoadRequest& request, const char* task) {
  const LevelsRequest& levels = request.levels;
  WM_ASSIGN(const Traffic base, traffic_of(request));
  WM_ASSIGN(const auto scenarios, scenarios_of(levels, base, task));
  const auto& rates = levels.rates;
  auto users = levels.users;
  if (!rates.empty() && !users.empty()) {
    return usage_error("give --num-concurrency or --request-rate, not both",
                       "a closed loop of users, or an open one at a rate");
  }
  if (users.empty() && rates.empty()) users.push_back(1);
  std::vector<LoadStep> steps;
  for (const auto& scenario : scenarios) {
    LoadStep step{.traffic = base};
    step.traffic.scenario = scenario;
    if (base.arrivals.kind == ArrivalKind::trace) {
      step.traffic.scenario.text = "trace " + base.trace.format;
      step.traffic.users = 0;
      steps.push_back(step);
      continue;
    }
    for (const double rate : rates) {
      step.level = rate;
      WM_ASSIGN(step.traffic.arrivals, serving::parse_arrivals(levels.arrivals, rate));
      step.traffic.users = 0;
      steps.push_back(step);
    }
    for (const auto count : users) {
      step.traffic.users = count;
      step.level = static_cast<double>(count);
      steps.push_back(step);
    }
  }
  // As genai-bench has it for embeddings and rerankers.
  auto all = multiplied(
      std::move(steps), levels.batches, [](Traffic & traffic) -> auto& { return traffic.batch; });
  all = multiplied(
      std::move(all), levels.turns, [](Traffic & traffic) -> auto& { return traffic.conversations.turns; });
  for (auto& step : all) step.parameters = parameters_of(request, step);
  return all;
}

}  // namespace warpmark::loadtest
