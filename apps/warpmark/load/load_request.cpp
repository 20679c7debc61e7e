#include "warpmark/load/load_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/load/load_quality.h"
#include "warpmark/load/load_target.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

using serving::ArrivalKind;
using serving::Traffic;

Result<double> duration_of(const ParsedOptions& options, const char* name, double otherwise) {
  if (!options.has(name)) return otherwise;
  WM_ASSIGN(const double seconds, parse_duration_s(options.get(name)));
  if (!(seconds > 0)) return usage_error(std::string(name) + " must be above 0");
  return seconds;
}

Status take_search(const ParsedOptions& options, LoadRequest& request) {
  if (!options.has("--search")) return {};
  if (request.evaluation.slo.empty()) return usage_error("--search needs objectives", "--slo 'ttft:p99<500ms'");
  WM_ASSIGN(request.search_most, parse_number(options.get("--search")));
  const LoadStep& first = request.steps.front();
  if (first.traffic.arrivals.kind == ArrivalKind::trace)
    return usage_error("a trace has its own rate: --search needs users or a rate");
  if (request.search_most < first.level)
    return usage_error("--search is below the first load", "the highest load to try");
  return {};
}

Status take_precision(const ParsedOptions& options, LoadRequest& request) {
  if (!options.has("--precision")) return {};
  const std::string text = options.get("--precision");
  const auto less = text.find('<');
  const auto ratio = less == std::string::npos ? Result<double>(usage_error("")) : parse_ratio(text.substr(less + 1));
  const std::string metric = text.substr(0, less);
  const bool known = metric == "ttft:p50" || metric == "ttft:p99" || metric == "e2e:p50" || metric == "e2e:p99";
  if (!ratio.ok() || !known || !(*ratio > 0) || !(*ratio < 1)) {
    return usage_error("'" + text + "' is no precision",
                       "such as ttft:p99<5%: half the interval of it; ttft or e2e, p50 or p99");
  }
  request.precision = *ratio;
  request.precision_metric = metric;
  return {};
}

/// LoadGen's scenarios decide how requests arrive and how long the load is.
Status take_mlperf(const ParsedOptions& options, LoadRequest& request) {
  for (const char* name : {"--min-duration", "--min-queries"}) {
    if (options.has(name) && !options.has("--mlperf")) return usage_error(std::string(name) + " belongs to --mlperf");
  }
  if (!options.has("--mlperf")) return {};
  WM_ASSIGN(auto rules, serving::mlperf_rules(options.get("--mlperf")));
  WM_ASSIGN(rules.least_duration_s, duration_of(options, "--min-duration", rules.least_duration_s));
  WM_ASSIGN(rules.least_queries, count_of(options, "--min-queries", rules.least_queries, 1, 10'000'000));
  request.evaluation.find_warmup = false;  // LoadGen leaves nothing out
  for (auto& step : request.steps) {
    Traffic& traffic = step.traffic;
    const bool server = rules.scenario == serving::MlperfScenario::server;
    if (traffic.arrivals.kind == ArrivalKind::trace) return usage_error("--mlperf has its own arrivals: no --trace");
    if (server && traffic.arrivals.kind != ArrivalKind::poisson) {
      return usage_error("the scenario Server needs --request-rate", "its queries come at random: a Poisson process");
    }
    if (server && request.evaluation.slo.empty()) {
      return usage_error("the scenario Server needs limits",
                         request.workload.empty() ? "--slo mlperf-llama3.1-8b, or ttft:p99<2s,tpot:p99<100ms"
                                                  : "--slo 'e2e:p99<130ms'");
    }
    if (!server && traffic.arrivals.kind != ArrivalKind::closed) {
      return usage_error(std::string("--request-rate belongs to the scenario Server, not to ") +
                         serving::name_of(rules.scenario));
    }
    traffic.most_requests = 0;
    traffic.duration_s = rules.least_duration_s;
    traffic.least_requests = rules.least_queries * rules.samples_per_query;
    if (server) {
      // Far enough that a query is due after the least duration, and that there are enough, but for one chance in 1e9.
      const auto queries = static_cast<double>(rules.least_queries);
      traffic.duration_s =
          std::max(traffic.duration_s + 20 / step.level, (queries + 6 * std::sqrt(queries)) / step.level);
    } else if (rules.scenario == serving::MlperfScenario::offline) {
      WM_ASSIGN(traffic.most_requests, count_of(options, "--max-requests-per-run", rules.least_queries, 1, 10'000'000));
      traffic.duration_s = 0;
      traffic.all_at_once = true;
      traffic.arrivals = {.kind = ArrivalKind::constant, .rate = 0};
      if (request.most_in_flight == 0) request.most_in_flight = 1024;
      request.drain_s = std::max(request.drain_s, 10 * rules.least_duration_s);
      traffic.users = 0;
    } else {
      traffic.users = rules.samples_per_query;
      traffic.together = rules.samples_per_query > 1;
    }
  }
  request.mlperf = rules;
  return {};
}

constexpr const char* kNextQuestion = "Check your answer, and answer the question once more in the same form.";

/// The questions of a task instead of a scenario; each of them once, where nothing else is asked for. With several
/// turns the model is asked to check its answer in each turn after the first, and the last answer is scored.
Status take_questions(const Context& context, const ParsedOptions& options, LoadRequest& request) {
  if (!options.has("--eval")) return {};
  for (const char* name : {"--traffic-scenario", "--dataset-path", "--trace"}) {
    if (options.has(name)) return usage_error(std::string(name) + " and --eval exclude each other");
  }
  WM_ASSIGN(request.questions, load_questions_of(context, options, request.target));
  request.target.keep_texts = true;
  const auto rows = rows_of(*request.questions, request.target);
  for (auto& step : request.steps) {
    step.traffic.scenario = {.kind = serving::ScenarioKind::dataset, .text = "dataset"};
    step.traffic.dataset = rows;
    step.traffic.conversations.next_question = kNextQuestion;
    if (options.has("--max-time-per-run") || options.has("--max-requests-per-run")) continue;
    step.traffic.duration_s = 0;
    step.traffic.most_conversations = static_cast<std::int64_t>(rows.size());
  }
  return {};
}

Status take_clients(const ParsedOptions& options, LoadRequest& request) {
  WM_ASSIGN(const auto clients, count_of(options, "--clients", 0, 1, 10'000));
  request.clients = static_cast<int>(clients);
  request.hosts = options.get("--hosts");
  if (!request.hosts.empty() && request.clients == 0) {
    return usage_error("--hosts needs the number of clients", "--clients N");
  }
  if (request.clients > 0 && request.precision > 0) {
    return usage_error("--precision looks at one client's requests: not with --clients");
  }
  if (request.clients > 0 && request.mlperf && request.steps.front().traffic.together) {
    return usage_error("the samples of a query are sent by one client: no --clients in MultiStream");
  }
  return {};
}

/// LoadGen's scenarios against a network instead of a server.
Result<LoadRequest> workload_request_of(const ParsedOptions& options) {
  LoadRequest request;
  request.workload = options.get("--workload");
  for (const char* name : {"--api-base", "--eval", "--clients", "--search", "--saturate", "--traffic-scenario"}) {
    if (options.has(name)) return usage_error(std::string(name) + " and --workload exclude each other");
  }
  if (!options.has("--mlperf")) {
    return usage_error("a workload is asked by LoadGen's scenarios",
                       "--mlperf SingleStream, MultiStream, Server or Offline");
  }
  if (options.has("--slo")) {
    WM_ASSIGN(request.evaluation.slo, serving::parse_slo(options.get("--slo")));
  }
  for (const auto& clause : request.evaluation.slo) {
    if (clause.metric == "e2e" || clause.metric == "errors") continue;
    return usage_error("a workload's queries have no " + clause.metric, "--slo e2e:p99<15ms");
  }
  WM_ASSIGN(request.steps, load_steps_of(options, "text-to-text"));
  if (request.steps.size() != 1) return usage_error("one load at a time with --workload");
  WM_TRY(take_mlperf(options, request));
  request.steps.front().traffic.scenario.text = request.workload;
  WM_ASSIGN(request.most_batched, count_of(options, "--max-batchsize", 1, 1, 1024));
  if (options.has("--max-batchsize") && request.mlperf->scenario != serving::MlperfScenario::server) {
    return usage_error("--max-batchsize is for --mlperf Server", "Offline takes --set batch=N");
  }
  request.telemetry = options.all("--telemetry");
  return request;
}

}  // namespace

Result<LoadRequest> load_request_of(const Context& context, const ParsedOptions& options) {
  if (options.has("--workload")) return workload_request_of(options);
  if (options.has("--max-batchsize")) {
    return usage_error("--max-batchsize is for --workload", "the server chooses its batches: see its options");
  }
  LoadRequest request;
  WM_ASSIGN(request.target, load_target_of(context, options));
  WM_ASSIGN(request.steps, load_steps_of(options, request.target.api->task));
  request.seed = request.steps.front().traffic.shared_seed;
  request.seed_given = options.has("--seed");
  WM_TRY(take_questions(context, options, request));
  constexpr std::pair<const char*, const char*> kLabels[] = {{"--server-engine", "engine"},
                                                             {"--server-version", "engine_version"},
                                                             {"--server-gpu-type", "gpu_type"},
                                                             {"--server-gpu-count", "gpu_count"}};
  for (const auto& [option, label] : kLabels) {
    if (options.has(option)) request.labels.emplace_back(label, options.get(option));
  }
  if (options.has("--slo")) {
    WM_ASSIGN(request.evaluation.slo, serving::parse_slo(options.get("--slo")));
  }
  WM_ASSIGN(request.evaluation.goodput, serving::parse_goodput(options.all("--goodput")));
  WM_ASSIGN(request.max_error_rate, ratio_of(options, "--max-error-rate", 0));
  WM_ASSIGN(request.evaluation.warmup_ratio, ratio_of(options, "--warmup-ratio", 0));
  WM_ASSIGN(request.evaluation.cooldown_ratio, ratio_of(options, "--cooldown-ratio", 0));
  if (request.evaluation.warmup_ratio + request.evaluation.cooldown_ratio >= 1) {
    return usage_error("--warmup-ratio and --cooldown-ratio leave nothing", "together below 1");
  }
  request.calibrate = !options.has("--no-calibrate");
  WM_ASSIGN(request.request_timeout_s, duration_of(options, "--request-timeout", 600));
  WM_ASSIGN(request.stall_timeout_s, duration_of(options, "--stall-timeout", 120));
  WM_ASSIGN(request.drain_s, duration_of(options, "--drain", 30));
  request.keep_connections = !options.has("--new-connections");
  request.every_gap = options.has("--vllm-json");
  WM_ASSIGN(request.most_in_flight, count_of(options, "--max-in-flight", 0, 1, 1'000'000));
  WM_ASSIGN(const auto threads, count_of(options, "--threads", 1, 1, 64));
  request.threads = static_cast<int>(threads);
  WM_TRY(take_precision(options, request));
  WM_TRY(take_mlperf(options, request));
  request.telemetry = options.all("--telemetry");
  WM_ASSIGN(request.gpus, count_of(options, "--server-gpu-count", 0, 1, 1'000'000));
  if (options.has("--gpu-hour-price")) {
    const auto price = parse_number(options.get("--gpu-hour-price"));
    if (!price.ok() || !(*price > 0))
      return usage_error("--gpu-hour-price must be a number above 0", "of one GPU for an hour");
    request.price_per_hour = *price * static_cast<double>(std::max<std::int64_t>(request.gpus, 1));
  }
  WM_TRY(take_clients(options, request));
  if (options.has("--saturate")) {
    WM_ASSIGN(request.sweep_rates, count_of(options, "--saturate", 5, 0, 100));
    if (options.has("--search") || request.mlperf)
      return usage_error("--saturate, --search and --mlperf exclude each other");
    if (request.steps.front().traffic.arrivals.kind == ArrivalKind::trace)
      return usage_error("a trace has its own rate: --saturate needs a scenario");
  }
  WM_TRY(take_search(options, request));
  return request;
}

}  // namespace warpmark::apps
