// Load on inference servers, and the server to try it on.
#include "warpmark/load/load.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "warpmark/load/load_outputs.h"
#include "warpmark/load/load_request.h"
#include "warpmark/load/load_server.h"
#include "warpmark/load/peers/peer_options.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

using serving::Conversations;
using serving::EvaluationOptions;
using serving::ReferenceScript;
using serving::Traffic;
using ReferenceServer = serving::ReferenceServerOptions;
using Server = LoadServerRequest;
using Target = TargetRequest;
using Levels = LevelsRequest;
using Load = LoadRequest;
using Chart = ChartRequest;
using Files = LoadFiles;
using Network = NetworkRequest;

constexpr OptionSpec kLoadRunOptions[] = {
    {"--api-base", "URL", "the server, such as http://localhost:8000; several share the load", to<&Target::bases>},
    {"--api-model-name", "NAME", "the model, as the server knows it", to<&Target::api_model>},
    {"--model", "NAME", "vLLM's name of --api-model-name; with both, genai-bench's label", to<&Target::model>},
    {"--api-backend", "NAME", "openai, vllm, sglang, tensorrt-llm, anthropic, azure-openai, together, ...",
     to<&Target::backend>,
     "openai vllm sglang tensorrt-llm anthropic azure-openai together gcp-vertex aws-bedrock oci-openai oci-genai "
     "oci-cohere oci-cohere-v2 cohere"},
    {"--azure-deployment", "NAME", "azure-openai: deployment (default: the model's name)",
     to<&Target::azure_deployment>},
    {"--azure-api-version", "DATE", "azure-openai: API version", to<&Target::azure_api_version>},
    {"--aws-region", "NAME", "aws-bedrock: region; keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
     to<&Target::aws_region>},
    {"--gcp-project-id", "NAME", "gcp-vertex: project; its key is a token (gcloud auth print-access-token)",
     to<&Target::gcp_project>},
    {"--gcp-location", "NAME", "gcp-vertex: location", to<&Target::gcp_location>},
    {"--region", "NAME", "oci-openai: region (default: of the profile)", to<&Target::oci_region>},
    {"--config-file", "FILE", "oci-openai: configuration file (default ~/.oci/config)", to<&Target::oci_config>},
    {"--oci-profile", "NAME", "oci-openai: profile in that file", to<&Target::oci_profile>},
    {"--auth", "NAME", "oci-openai: user_principal, security_token", to<&Target::oci_auth>.chosen(),
     "user_principal security_token"},
    {"--task", "TASK", "text-to-text, image-text-to-text, text-to-embeddings, text-to-rerank",
     to<&Target::task>.chosen(), "text-to-text image-text-to-text text-to-embeddings text-to-rerank"},
    {"--endpoint", "NAME", "chat (default), completions, responses, messages, ...", to<&Target::endpoint>,
     "chat completions responses messages vision embeddings rerank"},
    {"--api-key-file", "FILE", "file with the API key (default: the variable MODEL_API_KEY)", to<&Target::key_file>},
    {"--api-key", "WHERE", "where the key is: env:NAME or file:PATH", to<&Target::key>},
    {"--model-api-key", "WHERE", "the same as --api-key", to<&Target::key_again>},
    {"--header", "LINE", "header sent with every request, 'Name: value'; secrets as env:NAME or file:PATH",
     to<&Target::headers>},
    {"--ca-file", "FILE", "CA certificates (PEM) instead of the system's", to<&Target::ca_file>},
    {"--additional-request-params", "JSON", "keys added to every request body", to<&Target::parameters>},
    {"--traffic-scenario", "TEXT", "D(100,100), N(480,240)/(300,150), U(..), L(..), E(..), R(..), I(..), dataset",
     to<&Levels::scenarios>},
    {"--num-concurrency", "N", "users, each with one request at a time; several: 1,8,16",
     to<&Levels::users>.within({1, 1'000'000})},
    {"--request-rate", "RATE", "requests/s instead of users (open loop); several: 1,2,4",
     to<&Levels::rates>.within({0, serving::kMostRate, true})},
    {"--arrivals", "LAW", "arrival process of --request-rate: poisson, constant, gamma:SHAPE, ramp:RATE",
     to<&Levels::arrivals>},
    {"--trace", "FILE", "replay recorded requests: Mooncake, BurstGPT, Azure", to<&Levels::trace>},
    {"--trace-speed", "X", "replay the trace X times faster", to<&Traffic::trace_speed>.within(kPositive)},
    {"--dataset-path", "FILE", "prompts: .txt, .jsonl, .csv, ShareGPT's .json", to<&Levels::dataset>},
    {"--dataset-prompt-column", "NAME", "prompt column of a .csv", to<&Levels::dataset_column>},
    {"--eval", "TASK", "ask the questions of a task and score the answers (docs/accuracy.md)", to<&Load::task>,
     "<files>"},
    {"--prefix-ratio", "R", "share of each prompt that is a common prefix", to<&Traffic::prefix_ratio>},
    {"--prefix-len", "N", "tokens of the common prefix", to<&Traffic::prefix_tokens>.within({1, 10'000'000})},
    {"--turns", "N", "turns per conversation, each with all before it (default 1); several: 1,2,4",
     to<&Levels::turns>.within({1, 1000})},
    {"--think-time", "TIME", "mean pause of a user between turns", to<&Conversations::think_s>},
    {"--tool-time", "TIME", "fixed time of a tool call between turns", to<&Conversations::tool_s>},
    {"--chain", "", "send each turn to the next of several --api-base", to<&Conversations::chained>},
    {"--batch-size", "N", "documents per request: embeddings, reranking (default 1); several: 1,8,32",
     to<&Levels::batches>.within({1, 100'000})},
    {"--max-time-per-run", "TIME", "duration of each load: minutes, or with a unit, 30s (default 60s)",
     by<parse_run_time, &Traffic::duration_s>},
    {"--max-requests-per-run", "N", "maximum requests per load", to<&Traffic::most_requests>.within({1, 100'000'000})},
    {"--precision", "GOAL", "stop at this precision, such as ttft:p99<5%", by<parse_precision, &Load::precision>},
    {"--slo", "TEXT", "objectives, such as ttft:p99<500ms,tpot:p99<50ms,errors<1%; or a preset",
     by<serving::parse_slo, &EvaluationOptions::slo>},
    {"--goodput", "LIMIT", "limits of a good request in ms, as in vLLM: ttft:500 (default: the limits of --slo)",
     to<&Load::goodput>},
    {"--max-error-rate", "R", "end a load when more than this share of at least 20 requests has failed, such as 10%",
     to<&Load::max_error_rate>},
    {"--search", "MOST", "find the highest load that meets --slo, from the first load up to MOST",
     to<&Load::search_most>.within(kPositive)},
    {"--saturate", "N", "measure from one user to saturation, and N rates in between (default 5)",
     to<&Load::sweep_rates>.within({0, 100})},
    {"--mlperf", "SCENARIO", "follow LoadGen's rules: SingleStream, MultiStream, Server, Offline",
     by<serving::mlperf_rules, &Load::mlperf>, "SingleStream MultiStream Server Offline"},
    {"--workload", "NAME", "with --mlperf: a network in your PyTorch (--set, --device) instead of a server",
     to<&Load::workload>},
    {"--max-batchsize", "N", "with --workload and Server: maximum batch of waiting queries",
     to<&Load::most_batched>.within({1, 1024})},
    {"--min-duration", "TIME", "with --mlperf: minimum duration (default 600s)",
     to<&Load::least_duration_s>.within(kPositive)},
    {"--min-queries", "N", "with --mlperf: minimum queries (default: of the scenario)",
     to<&Load::least_queries>.within({1, 10'000'000})},
    {"--clients", "N", "share the load among N processes, started by mpirun or srun",
     to<&Load::clients>.within({1, 10'000})},
    {"--hosts", "FILE", "hosts of --clients, in mpirun's format", to<&Load::hosts>},
    {"--resume", "", "skip loads that --json or the experiment folder already has", to<&Files::resumes>},
    {"--warmup-ratio", "R", "share of the time dropped at the start (default: detected)",
     to<&EvaluationOptions::warmup_ratio>},
    {"--cooldown-ratio", "R", "share of the time dropped at the end (default: detected)",
     to<&EvaluationOptions::cooldown_ratio>},
    {"--spawn-rate", "N", "users started per second (default: all at once)",
     to<&Traffic::users_per_s>.within(kPositive)},
    {"--max-in-flight", "N", "with --request-rate: maximum concurrent requests",
     to<&Load::most_in_flight>.within({1, 1'000'000})},
    {"--request-timeout", "TIME", "a request that takes longer counts as failed",
     to<&Load::request_timeout_s>.within(kPositive)},
    {"--stall-timeout", "TIME", "maximum pause within an answer", to<&Load::stall_timeout_s>.within(kPositive)},
    {"--drain", "TIME", "time to wait for open requests at the end", to<&Load::drain_s>.within(kPositive)},
    {"--no-stream", "", "without streaming", to<&Target::streams>},
    {"--new-connections", "", "a new connection per request", to<&Load::keep_connections>},
    {"--no-calibrate", "", "skip the requests that find out how the server counts tokens", to<&Load::calibrate>},
    {"--tokenizer", "FILE", "the model's tokenizer.json or SentencePiece file: counts tokens as the server does",
     to<&Target::tokenizer>.of("run, tokens")},
    {"--threads", "N", "threads of the client", to<&Load::threads>.within({1, 64})},
    {"--server-engine", "NAME", "label of the results: vLLM, SGLang, ...", to<&Load::engine>},
    {"--server-version", "TEXT", "label", to<&Load::engine_version>},
    {"--server-gpu-type", "NAME", "label: H100, ...", to<&Load::gpu_type>},
    {"--server-gpu-count", "N", "label", to<&Load::gpus>.within({1, 1'000'000})},
    {"--gpu-hour-price", "PRICE", "price of a GPU hour, in any currency: cost per request and per million tokens",
     to<&Load::gpu_hour_price>.within(kPositive)},
    {"--telemetry", "SOURCE", "nvml, or a Prometheus URL: power, memory, tokens per joule", to<&Load::telemetry>},
    {"--seed", "N", "seed of prompts and arrivals (default: new for each run, as servers cache prompts)",
     to<&Levels::seed>.within(kNonNegative)},
    {"--experiment-folder-name", "DIR", "also write the results as genai-bench does", to<&Files::folder_name>},
    {"--experiment-base-dir", "DIR", "parent of that folder, which gets a name if none is given",
     to<&Files::base_folder>},
    {"--no-store", "", "do not store the results", to<&Files::stores>},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)", of("run, compare")},
    {"--json", "[FILE]", "write the results as JSON", to<&Files::json>.of("run, selftest, compare, tokens")},
    {"--requests-csv", "FILE", "write a row per request", to<&Files::requests_csv>},
    {"--html", "FILE", "write the report as an HTML page", to<&Files::html>.of("run, compare")},
    {"--vllm-json", "FILE", "write the last load as vllm bench serve does", to<&Files::vllm_json>},
};

constexpr OptionSpec kChartOptions[] = {
    {"--experiment-folder", "DIR", "the experiment folder", to<&Chart::experiment>.of("excel")},
    {"--excel-name", "FILE", "the workbook (default: in the folder, with its name)", to<&Chart::workbook>.of("excel")},
    {"--metric-percentile", "P", "statistic in tables and charts: mean, p25 .. p99",
     to<&Chart::percentile>.chosen().of("excel"), "mean p25 p50 p75 p90 p95 p99"},
    {"--metrics-time-unit", "UNIT", "s or ms", to<&Chart::time_unit>.chosen().of("excel, plot"), "s ms"},
    {"--experiments-folder", "DIR", "an experiment folder, or a folder of several", to<&Chart::experiments>},
    {"--preset", "NAME", "2x4_default, simple_2x2, multi_line_latency, single_scenario_analysis", to<&Chart::preset>,
     "2x4_default simple_2x2 multi_line_latency single_scenario_analysis"},
    {"--plot-config", "JSON|FILE", "your own plots, in genai-bench's format", to<&Chart::own_plots>},
    {"--group-key", "FIELD", "one line per value of traffic_scenario, a metadata field, or none",
     to<&Chart::group_key>},
    {"--filter-criteria", "JSON", "only runs with these metadata, {\"server_engine\": \"vLLM\"}", to<&Chart::filter>},
    {"--list-fields", "", "list the fields that can be plotted", to<&Chart::lists_fields>},
    {"--validate-only", "", "only check the settings", to<&Chart::only_checks>},
    {"--format", "FORMAT", "html, svg, png", to<&Chart::format>.chosen(), "html svg png"},
    {"--format", "FORMAT", "text, md, html, json", to<&LoadCompareRequest::format>.chosen().of("compare"),
     "text md html json"},
    {"--out", "FILE|DIR", "where to (default: into the experiments' folder)", to<&Chart::out>},
    {"--fail-if-worse", "",
     "exit code 1 if a number is worse than the first, 3 if undecided, 5 if a client was unreliable",
     to<&LoadCompareRequest::fails_if_worse>.of("compare")},
};

constexpr OptionSpec kServerOptions[] = {
    {"--host", "ADDRESS", "address to listen on", to<&Server::server, &ReferenceServer::host>},
    {"--port", "N", "port; 0 takes a free one", to<&Server::server, &ReferenceServer::port>.within({0, 65535})},
    {"--network", "NAME", "gpt2 or llama in your PyTorch (docs/models.md) instead of scripted times",
     to<&Server::network>.chosen(), "gpt2 llama"},
    {"--set", "K=V", "parameter of the network, such as preset=base, precision=bf16, python=PATH",
     by<name_and_value, &Network::set>.of("run, server")},
    {"--device", "DEVICE", "device of the network", to<&Network::device>.of("run, server")},
    {"--ttft", "TIME", "time to the first token", to<&ReferenceScript::ttft_s>},
    {"--itl", "TIME", "time between tokens", to<&ReferenceScript::itl_s>},
    {"--prefill", "TIME", "time added per prompt token", to<&ReferenceScript::prefill_s_per_token>},
    {"--jitter", "R", "coefficient of variation of both times", to<&ReferenceScript::jitter>.within({0, 10})},
    {"--slots", "N", "concurrent answers; other requests wait", to<&ReferenceScript::slots>.within({1, 1'000'000})},
    {"--output-tokens", "N", "answer length of requests without a limit",
     to<&ReferenceScript::output_tokens>.within({1, 1'000'000})},
    {"--tokens-per-event", "N", "as speculative decoding has it",
     to<&ReferenceScript::tokens_per_event>.within({1, 10'000})},
    {"--reasoning-tokens", "N", "reasoning tokens at the start of each answer",
     to<&ReferenceScript::reasoning_tokens>.within({0, 1'000'000})},
    {"--usage", "WHERE", "token counts: last (default), finish, every, none",
     by<serving::parse_usage_place, &ReferenceScript::usage>, "last finish every none"},
    {"--fault", "NAME=R", "share of error, rate-limit, reset, truncate, stall, stream-error", to<&Server::faults>},
    {"--answers", "FILE", "prompts and their answers, as JSON lines (docs/serving.md)", to<&Server::answers>},
    {"--no-done", "", "streams end without their end mark", to<&ReferenceScript::done_mark>},
    {"--require-key", "FILE", "demand the key in this file", to<&Server::key_file>},
    {"--certificate", "FILE", "https, with --private-key (PEM)",
     to<&Server::server, &ReferenceServer::certificate_file>},
    {"--private-key", "FILE", "of the certificate", to<&Server::server, &ReferenceServer::key_file>},
    {"--duration", "TIME", "end after", to<&Server::duration_s>},
    {"--duration", "TIME", "of each load", to<&SelftestRequest::seconds>.within(kAtLeastOne).of("selftest")},
    {"--streams", "N", "one load of N streams", to<&SelftestRequest::streams>.within({1, 100'000}).of("selftest")},
    {"--events-per-s", "N", "of --streams (default 50 a stream)",
     to<&SelftestRequest::events_per_s>.within({1, 100'000'000}).of("selftest")},
};

constexpr auto kLoadOptions =
    joined(of("run", kLoadRunOptions), of("plot", kChartOptions), of("server", kServerOptions));

constexpr OptionGroup kLoadGroups[] = {{"--api-base", "the server"},
                                       {"--traffic-scenario", "requests, users and rates"},
                                       {"--max-time-per-run", "duration and objectives"},
                                       {"--mlperf", "MLPerf"},
                                       {"--clients", "the client"},
                                       {"--server-engine", "labels, cost and telemetry"},
                                       {"--experiment-folder-name", "results"},
                                       {"--experiment-folder", "excel, plot and compare"},
                                       {"--host", "the reference server and selftest"}};

struct Action {
  const char* name;
  Result<int> (*run)(Context& context, const ParsedOptions& options);
  bool takes_words;  ///< behind its name
};
constexpr Action kLoadActions[] = {{"run", load_run, false},           {"server", load_server, false},
                                   {"selftest", load_selftest, false}, {"compare", load_compare, true},
                                   {"excel", load_excel, false},       {"plot", load_plot, false},
                                   {"tokens", load_tokens, true}};

Result<int> run_load_verb(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  std::vector<std::string> names;
  for (const auto& action : kLoadActions) {
    names.emplace_back(action.name);
    if (!words.empty() && words[0] == action.name && (action.takes_words || words.size() == 1)) {
      return action.run(context, options);
    }
  }
  const auto meant = words.empty() ? "" : nearest(words[0], names);
  std::string hint;
  if (words.empty() || words[0].find("://") != std::string::npos) {
    const std::string server = words.empty() ? options.get("--api-base", "http://localhost:8000") : words[0];
    hint = "warpmark load run --api-base " + server + " --api-model-name NAME; ";
  } else if (!meant.empty() && meant != words[0]) {
    hint = "did you mean '" + meant + "'? ";
  }
  return usage_error(words.empty() ? "load needs an action" : "load has no action '" + join(words, " ") + "'",
                     hint + "actions: " + join(names, ", "));
}

Result<std::vector<std::string>> own_load_words(Context& context, std::span<const std::string> words) {
  WM_ASSIGN(auto own, own_words(words));
  for (const auto& note : own.notes) context.err << "note: " << note << '\n';
  return std::move(own.words);
}

}  // namespace

extern const Command load_command{
    .id = "load",
    .summary = "load-test LLM inference servers; compare, plot; a reference server",
    .details =
        "run sends requests to a server with OpenAI's or Anthropic's API and shows latencies (TTFT, TPOT, ITL, "
        "end to end) with confidence intervals, rates and errors. If the client was the bottleneck, results are "
        "marked unreliable (exit code 5). Latencies count from sending, and from when the request was due. "
        "docs/serving.md defines each number.\n"
        "\n"
        "Users (--num-concurrency) send one request after another; --request-rate and --trace send at given "
        "times. --search finds the highest load that meets --slo, --saturate measures from idle to saturation, "
        "--mlperf follows LoadGen's rules. Command lines of `genai-bench benchmark` and `vllm bench serve` work "
        "after `warpmark load run` (docs/load-command-lines.md lists the differences).\n"
        "\n"
        "compare compares experiment folders, files of --json and stored loads. excel writes a workbook with "
        "charts of an experiment folder; plot draws them.\n"
        "\n"
        "tokens counts the tokens of files with a model's tokenizer. run --tokenizer does the same for the "
        "answers of the server.\n"
        "\n"
        "server is a reference server with scripted times and faults. selftest uses it to measure the capacity "
        "and timing error of this client on this machine.\n"
        "\n"
        "Ctrl-C ends a run and keeps the measurements; --resume continues it. With --slo the exit code is 1 if a "
        "load misses an objective and 3 if one is undecided. Keys are not accepted on the command line, which "
        "other users can see: use env:VARIABLE or file:PATH.",
    .options = kLoadOptions,
    .groups = kLoadGroups,
    .positional = {"ACTION", "run, server, selftest, compare A B [C...], excel, plot, tokens FILE...", true,
                   "run server selftest compare excel plot tokens"},
    .examples =
        "warpmark load server --port 8000 --ttft 80ms --itl 20ms\n"
        "warpmark load run --api-base URL --api-model-name m --num-concurrency 1,8,64\n"
        "warpmark load run --api-base URL --api-model-name m --request-rate 20\n"
        "warpmark load compare vllm/ sglang/ tensorrt-llm/\n"
        "warpmark load excel --experiment-folder vllm/\n"
        "warpmark load selftest --json selftest.json",
    .run = run_load_verb,
    .own_words = own_load_words,
};

}  // namespace warpmark::apps
