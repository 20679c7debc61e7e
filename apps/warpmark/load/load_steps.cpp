// Which loads `warpmark load run` measures, from its options: scenarios times levels times batch sizes and turns.
#include <fmt/format.h>

#include <random>

#include "base/text.h"
#include "base/units.h"
#include "warpmark/load/load_request.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

using serving::ArrivalKind;
using serving::Traffic;

constexpr const char* kDefaultScenarios[][2] = {{"text-to-text", "D(100,100)"},
                                                {"image-text-to-text", "I(512,512)"},
                                                {"text-to-embeddings", "E(256)"},
                                                {"text-to-rerank", "R(256,100)"}};

/// Values of a repeatable option, each of which may hold several, separated by commas.
std::vector<std::string> list_of(const ParsedOptions& options, const char* name) {
  std::vector<std::string> values;
  for (const auto& value : options.all(name)) {
    for (const auto& part : split(value, ',')) values.push_back(std::string(trim(part)));
  }
  return values;
}

/// genai-bench counts in minutes; "30s" is taken as well.
Result<double> run_time_of(const ParsedOptions& options) {
  if (!options.has("--max-time-per-run")) return 0.0;
  const std::string text = options.get("--max-time-per-run");
  const auto minutes = parse_number(text);
  WM_ASSIGN(const double seconds, minutes.ok() ? Result<double>(*minutes * 60) : parse_duration_s(text));
  if (!(seconds > 0)) return usage_error("--max-time-per-run must be above 0", "minutes, or with a unit: 30s");
  return seconds;
}

/// Prompts of two runs are different, unless --seed asks for the same.
std::int64_t seed_of_this_process() {
  std::random_device random;
  return static_cast<std::int64_t>(random());
}

/// What all steps have in common.
Result<Traffic> traffic_of(const ParsedOptions& options) {
  Traffic traffic;
  WM_ASSIGN(traffic.duration_s, run_time_of(options));
  WM_ASSIGN(traffic.most_requests, count_of(options, "--max-requests-per-run", 0, 1, 100'000'000));
  if (traffic.duration_s == 0 && traffic.most_requests == 0) traffic.duration_s = 60;
  WM_ASSIGN(const auto seed, count_of(options, "--seed", seed_of_this_process(), 0, INT64_MAX));
  traffic.seed = traffic.shared_seed = static_cast<std::uint64_t>(seed);
  WM_ASSIGN(traffic.prefix_ratio, ratio_of(options, "--prefix-ratio", 0));
  WM_ASSIGN(traffic.prefix_tokens, count_of(options, "--prefix-len", 0, 1, 10'000'000));
  traffic.conversations.chained = options.has("--chain");
  if (options.has("--chain") && options.all("--api-base").size() < 2) {
    return usage_error("--chain needs several servers", "--api-base URL, once for each");
  }
  if (options.has("--tool-time")) {
    WM_ASSIGN(traffic.conversations.tool_s, parse_duration_s(options.get("--tool-time")));
  }
  if (options.has("--think-time")) {
    WM_ASSIGN(traffic.conversations.think_s, parse_duration_s(options.get("--think-time")));
  }
  if (options.has("--spawn-rate")) {
    WM_ASSIGN(traffic.users_per_s, parse_number(options.get("--spawn-rate")));
    if (!(traffic.users_per_s > 0)) return usage_error("--spawn-rate must be above 0");
  }
  if (options.has("--dataset-path")) {
    WM_ASSIGN(traffic.dataset, serving::read_dataset(options.get("--dataset-path"),
                                                     {.column = options.get("--dataset-prompt-column", "prompt")}));
  }
  if (!options.has("--trace")) return traffic;
  WM_ASSIGN(traffic.trace, serving::read_trace(options.get("--trace")));
  traffic.arrivals.kind = ArrivalKind::trace;
  if (options.has("--trace-speed")) {
    WM_ASSIGN(traffic.trace_speed, parse_number(options.get("--trace-speed")));
    if (!(traffic.trace_speed > 0)) return usage_error("--trace-speed must be above 0");
  }
  return traffic;
}

Result<std::vector<serving::Scenario>> scenarios_of(const ParsedOptions& options, const Traffic& traffic,
                                                    const char* task) {
  auto texts = options.all("--traffic-scenario");
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

/// An option by which every step is made several, one for each value.
struct StepOption {
  const char* name;
  const char* what;  ///< a value that is none
  const char* hint;
  std::int64_t most;
  std::int64_t& (*field)(Traffic& traffic);
};

constexpr StepOption kStepOptions[] = {{"--batch-size", "number of documents", "1 to 100000; several: 1,8,32", 100'000,
                                        [](Traffic& traffic) -> std::int64_t& { return traffic.batch; }},
                                       {"--turns", "number of turns", "1 to 1000; several: 1,2,4", 1000,
                                        [](Traffic& traffic) -> std::int64_t& { return traffic.conversations.turns; }}};

/// Every step once for each batch size, as genai-bench has it for embeddings and rerankers, and each number of turns.
Result<std::vector<LoadStep>> multiplied(const ParsedOptions& options, std::vector<LoadStep> steps) {
  for (const auto& option : kStepOptions) {
    const auto values = list_of(options, option.name);
    if (values.empty()) continue;
    std::vector<LoadStep> all;
    for (const auto& step : steps) {
      for (const auto& text : values) {
        const auto value = parse_integer(text);
        if (!value.ok() || *value < 1 || *value > option.most) {
          return usage_error(fmt::format("{}: '{}' is no {}", option.name, text, option.what), option.hint);
        }
        all.push_back(step);
        option.field(all.back().traffic) = *value;
      }
    }
    steps = std::move(all);
  }
  return steps;
}

std::map<std::string, std::string> parameters_of(const ParsedOptions& options, const LoadStep& step) {
  std::map<std::string, std::string> parameters;
  const auto take = [&](const char* name) {
    if (!options.has(name)) return;
    const std::string value = options.get(name);
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

Result<std::vector<LoadStep>> load_steps_of(const ParsedOptions& options, const char* task) {
  WM_ASSIGN(const Traffic base, traffic_of(options));
  WM_ASSIGN(const auto scenarios, scenarios_of(options, base, task));
  const auto rates = list_of(options, "--request-rate");
  auto users = list_of(options, "--num-concurrency");
  if (!rates.empty() && !users.empty()) {
    return usage_error("give --num-concurrency or --request-rate, not both",
                       "a closed loop of users, or an open one at a rate");
  }
  if (users.empty()) users.push_back("1");
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
    for (const auto& text : rates) {
      const auto rate = parse_number(text);
      if (!rate.ok() || !(*rate > 0) || *rate > serving::kMostRate) {
        return usage_error("--request-rate: '" + text + "' is no rate",
                           "requests/s, above 0 and up to 1e6; several: 1,2,4");
      }
      step.level = *rate;
      WM_ASSIGN(step.traffic.arrivals, serving::parse_arrivals(options.get("--arrivals", "poisson"), step.level));
      step.traffic.users = 0;
      steps.push_back(step);
    }
    for (const auto& text : rates.empty() ? users : std::vector<std::string>()) {
      const auto count = parse_integer(text);
      if (!count.ok() || *count < 1 || *count > 1'000'000) {
        return usage_error("--num-concurrency: '" + text + "' is no number of users", "1 to 1000000; several: 1,8,16");
      }
      step.traffic.users = *count;
      step.level = static_cast<double>(step.traffic.users);
      steps.push_back(step);
    }
  }
  WM_ASSIGN(auto all, multiplied(options, std::move(steps)));
  for (auto& step : all) step.parameters = parameters_of(options, step);
  return all;
}

std::string level_text(const serving::ScenarioResult& result) {
  if (result.batch > 1) {
    serving::ScenarioResult one;
    one.arrivals = result.arrivals, one.users = result.users, one.rate = result.rate;
    return level_text(one) + fmt::format(", {} {}", result.batch, result.mlperf ? "samples a query" : "documents");
  }
  if (result.turns > 1) {
    serving::ScenarioResult one;
    one.arrivals = result.arrivals, one.users = result.users, one.rate = result.rate;
    return level_text(one) + fmt::format(", {} turns", result.turns);
  }
  if (result.arrivals == "closed") return fmt::format("{} {}", result.users, result.users == 1 ? "user" : "users");
  if (result.arrivals == "trace") return "as recorded";
  if (result.rate == 0) return "all at once";
  return fmt::format("{:g} requests/s, {}", result.rate, result.arrivals);
}

}  // namespace warpmark::apps
