// Load on inference servers, and the server to try it on.
#include "warpmark/load/load.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "warpmark/load/peers/peer_options.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kLoadOptions[] = {
    {"--api-base", "URL", "run: the server, such as http://localhost:8000; several share the load", true},
    {"--api-model-name", "NAME", "run: the model, as the server knows it"},
    {"--model", "NAME", "run: the same, as vLLM has it; with --api-model-name the label that genai-bench has"},
    {"--api-backend", "NAME",
     "run: openai (default), vllm, sglang, tensorrt-llm, anthropic, azure-openai, together, ...", false,
     "openai vllm sglang tensorrt-llm anthropic azure-openai together gcp-vertex aws-bedrock oci-openai oci-genai "
     "oci-cohere oci-cohere-v2 cohere"},
    {"--azure-deployment", "NAME", "run: of azure-openai (default: the model's name)"},
    {"--azure-api-version", "DATE", "run: of azure-openai (default 2024-02-01)"},
    {"--aws-region", "NAME", "run: of aws-bedrock; keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"},
    {"--gcp-project-id", "NAME", "run: of gcp-vertex; its token is the key (gcloud auth print-access-token)"},
    {"--gcp-location", "NAME", "run: of gcp-vertex (default us-central1)"},
    {"--region", "NAME", "run: of oci-openai (default: of the profile)"},
    {"--config-file", "FILE", "run: of oci-openai (default ~/.oci/config)", false, "<files>"},
    {"--profile", "NAME", "run: in it (default DEFAULT)"},
    {"--auth", "NAME", "run: of oci-openai: user_principal (default), security_token", false,
     "user_principal security_token"},
    {"--task", "TASK", "run: text-to-text (default), image-text-to-text, text-to-embeddings, text-to-rerank", false,
     "text-to-text image-text-to-text text-to-embeddings text-to-rerank"},
    {"--endpoint", "NAME", "run: chat (default), completions, responses, messages, ...", false,
     "chat completions responses messages vision embeddings rerank"},
    {"--api-key-file", "FILE", "run: a file with the API key; without it, the variable MODEL_API_KEY", false,
     "<files>"},
    {"--api-key", "WHERE", "run: where the key is: env:NAME or file:PATH"},
    {"--model-api-key", "WHERE", "run: the same"},
    {"--header", "LINE", "run: a header of every request, 'Name: value'; secrets as env:NAME or file:PATH", true},
    {"--ca-file", "FILE", "run: certificates to trust instead of the system's (PEM)", false, "<files>"},
    {"--additional-request-params", "JSON", "run: keys set in every request body"},
    {"--traffic-scenario", "TEXT", "run: D(100,100), N(480,240)/(300,150), U(..), L(..), E(..), R(..), I(..), dataset",
     true},
    {"--num-concurrency", "N", "run: users, each with one request at a time; several: 1,8,16", true},
    {"--request-rate", "RATE", "run: requests/s instead of users (open loop); several: 1,2,4", true},
    {"--arrivals", "LAW", "run: of --request-rate: poisson (default), constant, gamma:SHAPE, ramp:RATE"},
    {"--trace", "FILE", "run: requests as recorded: Mooncake, BurstGPT, Azure", false, "<files>"},
    {"--trace-speed", "X", "run: replay it X times faster (default 1)"},
    {"--dataset-path", "FILE", "run: prompts: .txt, .jsonl, .csv, ShareGPT's .json", false, "<files>"},
    {"--dataset-prompt-column", "NAME", "run: of a .csv (default prompt)"},
    {"--eval", "TASK", "run: the questions of a task (docs/accuracy.md), and a score of the answers", false, "<files>"},
    {"--prefix-ratio", "R", "run: share of each prompt that all have in common"},
    {"--prefix-len", "N", "run: tokens of it"},
    {"--turns", "N", "run: questions in a conversation, each with all before it (default 1); several: 1,2,4", true},
    {"--think-time", "TIME", "run: mean pause of a user before the next question"},
    {"--tool-time", "TIME", "run: that a tool takes before it, always the same"},
    {"--chain", "", "run: each question goes to the next of several --api-base"},
    {"--batch-size", "N", "run: documents in a request: embeddings, reranking (default 1); several: 1,8,32", true},
    {"--max-time-per-run", "TIME", "run: of each load: minutes, or with a unit, 30s (default 60s)"},
    {"--max-requests-per-run", "N", "run: maximum requests of each load"},
    {"--precision", "GOAL", "run: stop when precise enough, such as ttft:p99<5%"},
    {"--slo", "TEXT", "run: objectives, such as ttft:p99<500ms,tpot:p99<50ms,errors<1%; or a preset"},
    {"--goodput", "LIMIT", "run: limits of a good request, in ms as vLLM has them, ttft:500 (default: those of --slo)",
     true},
    {"--max-error-rate", "R", "run: end a load when a greater share of at least 20 requests has failed, such as 10%"},
    {"--search", "MOST", "run: the highest load that meets --slo, from the first one up to MOST"},
    {"--saturate", "N", "run: from one user to saturation, and N rates between (default 5)"},
    {"--mlperf", "SCENARIO", "run: by LoadGen's rules: SingleStream, MultiStream, Server, Offline", false,
     "SingleStream MultiStream Server Offline"},
    {"--workload", "NAME", "run: of --mlperf: a network in your PyTorch, with --set and --device, instead of a server"},
    {"--max-batchsize", "N", "run: of --workload and Server: maximum batch of waiting queries (default 1)"},
    {"--min-duration", "TIME", "run: of --mlperf (default 600s)"},
    {"--min-queries", "N", "run: of --mlperf (default: of the scenario)"},
    {"--clients", "N", "run: N processes share the load, started by mpirun or srun"},
    {"--hosts", "FILE", "run: of --clients: the hosts, as mpirun reads them", false, "<files>"},
    {"--resume", "", "run: leave out loads that --json or the experiment folder has already"},
    {"--warmup-ratio", "R", "run: share of the time left out at the beginning (default: found from the data)"},
    {"--cooldown-ratio", "R", "run: share of the time left out at the end (default: found from the data)"},
    {"--spawn-rate", "N", "run: users that start each second (default: all at once)"},
    {"--max-in-flight", "N", "run: with --request-rate: maximum requests in flight"},
    {"--request-timeout", "TIME", "run: a request that takes longer counts as failed (default 600s)"},
    {"--stall-timeout", "TIME", "run: longest pause within an answer (default 120s)"},
    {"--drain", "TIME", "run: wait for what is under way at the end (default 30s)"},
    {"--no-stream", "", "run: answers at once, not as streams"},
    {"--new-connections", "", "run: a connection for each request"},
    {"--no-calibrate", "", "run: do not ask the server first how it counts tokens"},
    {"--tokenizer", "FILE",
     "run, tokens: of the model, tokenizer.json or SentencePiece's: counts tokens as the server does", false,
     "<files>"},
    {"--threads", "N", "run: threads of the client (default 1)"},
    {"--server-engine", "NAME", "run: label of the results: vLLM, SGLang, ..."},
    {"--server-version", "TEXT", "run: label"},
    {"--server-gpu-type", "NAME", "run: label: H100, ..."},
    {"--server-gpu-count", "N", "run: label"},
    {"--gpu-hour-price", "PRICE", "run: of one GPU, in any currency: cost per request and per million tokens"},
    {"--telemetry", "SOURCE", "run: nvml, or the URL of a Prometheus page: power, memory, tokens per joule", true},
    {"--seed", "N", "run: of prompts and arrivals (default: another for each run, as servers cache prompts)"},
    {"--experiment-folder-name", "DIR", "run: also write the results there as genai-bench does"},
    {"--experiment-base-dir", "DIR", "run: the same below this folder; a name is made if none is given"},
    {"--no-store", "", "run: keep nothing in the database"},
    {"--db", "FILE|URL", "run, compare: database (default: WARPMARK_DB or your own file)", false, "<files>"},
    {"--json", "[FILE]", "run, selftest, compare, tokens: write the results as JSON", false, "<files>"},
    {"--requests-csv", "FILE", "run: a row for each request", false, "<files>"},
    {"--html", "FILE", "run, compare: the report as a page", false, "<files>"},
    {"--vllm-json", "FILE", "run: the last load as vLLM's bench serve writes it", false, "<files>"},
    {"--experiment-folder", "DIR", "excel: the experiment", false, "<files>"},
    {"--excel-name", "FILE", "excel: the workbook (default: in the folder, by its name)", false, "<files>"},
    {"--metric-percentile", "P", "excel: of the tables and charts: mean (default), p25 .. p99", false,
     "mean p25 p50 p75 p90 p95 p99"},
    {"--metrics-time-unit", "UNIT", "excel, plot: s (default) or ms", false, "s ms"},
    {"--experiments-folder", "DIR", "plot: an experiment, or a folder of several", false, "<files>"},
    {"--preset", "NAME", "plot: 2x4_default, simple_2x2, multi_line_latency, single_scenario_analysis", false,
     "2x4_default simple_2x2 multi_line_latency single_scenario_analysis"},
    {"--plot-config", "JSON|FILE", "plot: plots of your own, as genai-bench has them", false, "<files>"},
    {"--group-key", "FIELD", "plot: a line for each: traffic_scenario (default), a metadata field, none"},
    {"--filter-criteria", "JSON", "plot: only runs with these metadata, {\"server_engine\": \"vLLM\"}"},
    {"--list-fields", "", "plot: show what can be plotted"},
    {"--validate-only", "", "plot: check the settings, draw nothing"},
    {"--format", "FORMAT", "plot: html (default), svg, png; compare: text (default), md, html, json", false,
     "html svg png text md json"},
    {"--out", "FILE|DIR", "plot: where to (default: into the experiments' folder)", false, "<files>"},
    {"--fail-if-worse", "",
     "compare: exit code 1 if one is worse than the first, 3 if that is undecided, 5 if a client was unreliable"},
    {"--host", "ADDRESS", "server: where to listen (default 127.0.0.1)"},
    {"--port", "N", "server: (default 8000; 0 takes a free one)"},
    {"--network", "NAME", "server: gpt2 or llama in your PyTorch (docs/models.md) instead of scripted times", false,
     "gpt2 llama"},
    {"--set", "K=V", "run, server: parameter of the network, such as preset=base, precision=bf16, python=PATH", true},
    {"--device", "DEVICE", "run, server: of the network (default cpu)", false, "<devices>"},
    {"--ttft", "TIME", "server: time to the first token (default 50ms)"},
    {"--itl", "TIME", "server: between tokens (default 10ms)"},
    {"--prefill", "TIME", "server: added for each token of the prompt"},
    {"--jitter", "R", "server: variation of both (coefficient of variation)"},
    {"--slots", "N", "server: answers at a time, the others wait"},
    {"--output-tokens", "N", "server: of requests without a limit (default 128)"},
    {"--tokens-per-event", "N", "server: as speculative decoding has it (default 1)"},
    {"--reasoning-tokens", "N", "server: at the beginning of each answer"},
    {"--usage", "WHERE", "server: token counts: last (default), finish, every, none", false, "last finish every none"},
    {"--fault", "NAME=R", "server: share of error, rate-limit, reset, truncate, stall, stream-error", true},
    {"--answers", "FILE", "server: prompts and their answers, as JSON lines (docs/serving.md)", false, "<files>"},
    {"--no-done", "", "server: streams end without their end mark"},
    {"--require-key", "FILE", "server: demand the key in this file", false, "<files>"},
    {"--certificate", "FILE", "server: https, with --private-key (PEM)", false, "<files>"},
    {"--private-key", "FILE", "server: of the certificate", false, "<files>"},
    {"--duration", "TIME", "server: end after; selftest: of each load (default 5s)"},
    {"--streams", "N", "selftest: one load of N streams"},
    {"--events-per-s", "N", "selftest: of --streams (default 50 a stream)"},
};

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
  return usage_error(
      words.empty() ? "load needs an action" : "load has no action '" + join(words, " ") + "'",
      (meant.empty() || meant == words[0] ? "" : "did you mean '" + meant + "'? ") + "actions: " + join(names, ", "));
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
        "end to end) with confidence intervals, rates, errors, and whether the client was the bottleneck; then "
        "results are marked unreliable (exit code 5). Latencies count from sending and from when a request was due. "
        "docs/serving.md defines each number.\n"
        "\n"
        "Users (--num-concurrency) send one request after another; --request-rate and --trace send at given times. "
        "--search finds the highest load that meets --slo, --saturate goes from idle to saturation, --mlperf follows "
        "LoadGen's rules. Options of `genai-bench benchmark` and `vllm bench serve` work after `warpmark load run` "
        "unchanged (docs/load-command-lines.md).\n"
        "\n"
        "compare compares results: experiment folders, files of --json, stored runs. excel writes a workbook with "
        "charts of an experiment folder, plot draws them.\n"
        "\n"
        "tokens counts the tokens of files with a model's tokenizer; run --tokenizer also does so for the answers of "
        "the server.\n"
        "\n"
        "server is a reference server with scripted times and faults. selftest uses it to measure what this client "
        "can do on this machine, and how exact its times are.\n"
        "\n"
        "Ctrl-C ends a run and keeps the measurements; --resume continues it. With --slo the exit code is 1 if an "
        "objective is missed and 3 if it is undecided. Keys are never taken from the command line, which other users "
        "can see: use env:VARIABLE or file:PATH.",
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
