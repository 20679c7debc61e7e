#include "loadtest/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "loadtest/options.h"
#include "loadtest/quality.h"

namespace warpmark::loadtest {
namespace {

using serving::ArrivalKind;
using serving::Traffic;

struct Given {
  const char* option;
  bool given;
};

Status excluded(const std::string& by, std::initializer_list<Given> others) {
  for (const auto& other : others) {
    if (other.given) return usage_error(other.option + (" and " + by) + " exclude each other");
  }
  return {};
}

Status check_search(const PreparedLoad& request) {
  if (request.search_most == 0) return {};
  if (request.evaluation.slo.empty()) return usage_error("--search needs objectives", "--slo 'ttft:p99<500ms'");
  const LoadStep& first = request.steps.front();
  if (first.traffic.arrivals.kind == ArrivalKind::trace)
    return usage_error("a trace has its own rate: --search needs users or a rate");
  if (request.search_most < first.level)
    return usage_error("--search is below the first load", "the highest load to try");
  return {};
}

/// LoadGen's scenarios decide how requests arrive and how long the load is.
Status take_mlperf(PreparedLoad& request) {
  if (!request.mlperf) {
    if (request.least_duration_s) return usage_error("--min-duration belongs to --mlperf");
    return request.least_queries ? usage_error("--min-queries belongs to --mlperf") : Status();
  }
  serving::MlperfRules& rules = *request.mlperf;
  rules.least_duration_s = request.least_duration_s.value_or(rules.least_duration_s);
  rules.least_queries = request.least_queries.value_or(rules.least_queries);
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
    const auto most_requests = std::exchange(traffic.most_requests, 0);
    traffic.duration_s = rules.least_duration_s;
    traffic.least_requests = rules.least_queries * rules.samples_per_query;
    if (server) {
      // Far enough that a query is due after the least duration, and that there are enough, but for one chance in 1e9.
      const auto queries = static_cast<double>(rules.least_queries);
      traffic.duration_s =
          std::max(traffic.duration_s + 20 / step.level, (queries + 6 * std::sqrt(queries)) / step.level);
    } else if (rules.scenario == serving::MlperfScenario::offline) {
      traffic.most_requests = most_requests > 0 ? most_requests : rules.least_queries;
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
  return {};
}

constexpr const char* kNextQuestion = "Check your answer, and answer the question once more in the same form.";

/// The questions of a task instead of a scenario; each of them once, where nothing else is asked for. With several
/// turns the model is asked to check its answer in each turn after the first, and the last answer is scored.
Status take_questions(PreparedLoad& request, const Surroundings& around) {
  if (request.task.empty()) return {};
  const auto& levels = request.levels;
  WM_TRY(excluded("--eval", {{"--traffic-scenario", !levels.scenarios.empty()},
                             {"--dataset-path", !levels.dataset.empty()},
                             {"--trace", !levels.trace.empty()}}));
  WM_ASSIGN(request.questions, questions_of(request, around));
  request.target.keep_texts = true;
  const auto rows = rows_of(*request.questions, request.target);
  for (auto& step : request.steps) {
    step.traffic.scenario = {.kind = serving::ScenarioKind::dataset, .text = "dataset"};
    step.traffic.dataset = rows;
    step.traffic.conversations.next_question = kNextQuestion;
    if (request.traffic.duration_s > 0 || request.traffic.most_requests > 0) continue;
    step.traffic.duration_s = 0;
    step.traffic.most_conversations = static_cast<std::int64_t>(rows.size());
  }
  return {};
}

Status check_clients(const PreparedLoad& request) {
  if (!request.hosts.empty() && request.clients == 0) {
    return usage_error("--hosts needs the number of clients", "--clients N");
  }
  if (request.clients > 0 && request.precision.share > 0) {
    return usage_error("--precision looks at one client's requests: not with --clients");
  }
  if (request.clients > 0 && request.mlperf && request.steps.front().traffic.together) {
    return usage_error("the samples of a query are sent by one client: no --clients in MultiStream");
  }
  return {};
}

/// LoadGen's scenarios against a network instead of a server.
Result<PreparedLoad> prepare_workload(PreparedLoad request) {
  WM_TRY(excluded("--workload", {{"--api-base", !request.server.bases.empty()},
                                 {"--eval", !request.task.empty()},
                                 {"--clients", request.clients > 0},
                                 {"--search", request.search_most > 0},
                                 {"--saturate", request.sweep_rates.has_value()},
                                 {"--traffic-scenario", !request.levels.scenarios.empty()}}));
  if (!request.mlperf) {
    return usage_error("a workload is asked by LoadGen's scenarios",
                       "--mlperf SingleStream, MultiStream, Server or Offline");
  }
  for (const auto& clause : request.evaluation.slo) {
    if (clause.metric == "e2e" || clause.metric == "errors") continue;
    return usage_error("a workload's queries have no " + clause.metric, "--slo e2e:p99<15ms");
  }
  WM_ASSIGN(request.steps, steps_of(request, "text-to-text"));
  if (request.steps.size() != 1) return usage_error("one load at a time with --workload");
  WM_TRY(take_mlperf(request));
  request.steps.front().traffic.scenario.text = request.workload;
  if (request.most_batched > 1 && request.mlperf->scenario != serving::MlperfScenario::server) {
    return usage_error("--max-batchsize is for --mlperf Server", "Offline takes --set batch=N");
  }
  return request;
}

}  // namespace

Result<LoadPrecision> parse_precision(const std::string& text) {
  const auto less = text.find('<');
  const auto ratio = less == std::string::npos ? Result<double>(usage_error("")) : parse_ratio(text.substr(less + 1));
  const std::string metric = text.substr(0, less);
  const bool known = metric == "ttft:p50" || metric == "ttft:p99" || metric == "e2e:p50" || metric == "e2e:p99";
  if (ratio.ok() && known && *ratio > 0 && *ratio < 1) return LoadPrecision{*ratio, metric};
  return usage_error("'" + text + "' is no precision",
                     "such as ttft:p99<5%: half the interval of it; ttft or e2e, p50 or p99");
}

Result<LoadRequest> request_of(const ParsedOptions& options) {
  LoadRequest request;
  WM_TRY(read_options(options, request, request.evaluation, request.server, request.levels, request.traffic,
                      request.traffic.conversations, request.network, request.files));
  request.given = options.given();
  return request;
}

Result<PreparedLoad> prepare(LoadRequest asked, const Surroundings& around) {
  PreparedLoad request{{std::move(asked)}};
  if (!request.workload.empty()) return prepare_workload(std::move(request));
  if (request.most_batched > 1) {
    return usage_error("--max-batchsize is for --workload", "the server chooses its batches: see its options");
  }
  WM_ASSIGN(request.target, target_of(request.server, around));
  WM_ASSIGN(request.steps, steps_of(request, request.target.api->task));
  request.seed = request.steps.front().traffic.shared_seed;
  WM_TRY(take_questions(request, around));
  for (const auto& [label, text] : {std::pair{"engine", request.engine},
                                    {"engine_version", request.engine_version},
                                    {"gpu_type", request.gpu_type},
                                    {"gpu_count", request.gpus > 0 ? std::to_string(request.gpus) : ""}}) {
    if (!text.empty()) request.labels.emplace_back(label, text);
  }
  WM_ASSIGN(request.evaluation.goodput, serving::parse_goodput(request.goodput));
  if (request.evaluation.warmup_ratio + request.evaluation.cooldown_ratio >= 1) {
    return usage_error("--warmup-ratio and --cooldown-ratio leave nothing", "together below 1");
  }
  WM_TRY(take_mlperf(request));
  request.price_per_hour =
      request.gpu_hour_price.value_or(0) * static_cast<double>(std::max<std::int64_t>(request.gpus, 1));
  WM_TRY(check_clients(request));
  if (request.sweep_rates) {
    if (request.search_most > 0 || request.mlperf)
      return usage_error("--saturate, --search and --mlperf exclude each other");
    if (request.steps.front().traffic.arrivals.kind == ArrivalKind::trace)
      return usage_error("a trace has its own rate: --saturate needs a scenario");
  }
  WM_TRY(check_search(request));
  return request;
}

}  // namespace warpmark::loadtest
