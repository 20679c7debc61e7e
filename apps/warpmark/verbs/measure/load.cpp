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
    {"--model", "NAME", "run: vLLM's name of --api-model-name; with both, genai-bench's label"},
    {"--api-backend", "NAME",
     "run: openai (default), vllm, sglang, tensorrt-llm, anthropic, azure-openai, together, ...", false,
     "openai vllm sglang tensorrt-llm anthropic azure-openai together gcp-vertex aws-bedrock oci-openai oci-genai "
     "oci-cohere oci-cohere-v2 cohere"},
    {"--azure-deployment", "NAME", "run: azure-openai: deployment (default: the model's name)"},
    {"--azure-api-version", "DATE", "run: azure-openai: API version (default 2024-02-01)"},
    {"--aws-region", "NAME", "run: aws-bedrock: region; keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"},
    {"--gcp-project-id", "NAME", "run: gcp-vertex: project; its key is a token (gcloud auth print-access-token)"},
    {"--gcp-location", "NAME", "run: gcp-vertex: location (default us-central1)"},
    {"--region", "NAME", "run: oci-openai: region (default: of the profile)"},
    {"--config-file", "FILE", "run: oci-openai: configuration file (default ~/.oci/config)", false, "<files>"},
    {"--oci-profile", "NAME", "run: oci-openai: profile in that file (default DEFAULT)"},
    {"--auth", "NAME", "run: oci-openai: user_principal (default), security_token", false,
     "user_principal security_token"},
    {"--task", "TASK", "run: text-to-text (default), image-text-to-text, text-to-embeddings, text-to-rerank", false,
     "text-to-text image-text-to-text text-to-embeddings text-to-rerank"},
    {"--endpoint", "NAME", "run: chat (default), completions, responses, messages, ...", false,
     "chat completions responses messages vision embeddings rerank"},
    {"--api-key-file", "FILE", "run: file with the API key (default: the variable MODEL_API_KEY)", false, "<files>"},
    {"--api-key", "WHERE", "run: where the key is: env:NAME or file:PATH"},
    {"--model-api-key", "WHERE", "run: the same as --api-key"},
    {"--header", "LINE", "run: header sent with every request, 'Name: value'; secrets as env:NAME or file:PATH", true},
    {"--ca-file", "FILE", "run: CA certificates (PEM) instead of the system's", false, "<files>"},
    {"--additional-request-params", "JSON", "run: keys added to every request body"},
    {"--traffic-scenario", "TEXT", "run: D(100,100), N(480,240)/(300,150), U(..), L(..), E(..), R(..), I(..), dataset",
     true},
    {"--num-concurrency", "N", "run: users, each with one request at a time; several: 1,8,16", true},
    {"--request-rate", "RATE", "run: requests/s instead of users (open loop); several: 1,2,4", true},
    {"--arrivals", "LAW",
     "run: arrival process of --request-rate: poisson (default), constant, gamma:SHAPE, ramp:RATE"},
    {"--trace", "FILE", "run: replay recorded requests: Mooncake, BurstGPT, Azure", false, "<files>"},
    {"--trace-speed", "X", "run: replay the trace X times faster (default 1)"},
    {"--dataset-path", "FILE", "run: prompts: .txt, .jsonl, .csv, ShareGPT's .json", false, "<files>"},
    {"--dataset-prompt-column", "NAME", "run: prompt column of a .csv (default prompt)"},
    {"--eval", "TASK", "run: ask the questions of a task and score the answers (docs/accuracy.md)", false, "<files>"},
    {"--prefix-ratio", "R", "run: share of each prompt that is a common prefix"},
    {"--prefix-len", "N", "run: tokens of the common prefix"},
    {"--turns", "N", "run: turns per conversation, each with all before it (default 1); several: 1,2,4", true},
    {"--think-time", "TIME", "run: mean pause of a user between turns"},
    {"--tool-time", "TIME", "run: fixed time of a tool call between turns"},
    {"--chain", "", "run: send each turn to the next of several --api-base"},
    {"--batch-size", "N", "run: documents per request: embeddings, reranking (default 1); several: 1,8,32", true},
    {"--max-time-per-run", "TIME", "run: duration of each load: minutes, or with a unit, 30s (default 60s)"},
    {"--max-requests-per-run", "N", "run: maximum requests per load"},
    {"--precision", "GOAL", "run: stop at this precision, such as ttft:p99<5%"},
    {"--slo", "TEXT", "run: objectives, such as ttft:p99<500ms,tpot:p99<50ms,errors<1%; or a preset"},
    {"--goodput", "LIMIT", "run: limits of a good request in ms, as in vLLM: ttft:500 (default: the limits of --slo)",
     true},
    {"--max-error-rate", "R",
     "run: end a load when more than this share of at least 20 requests has failed, such as 10%"},
    {"--search", "MOST", "run: find the highest load that meets --slo, from the first load up to MOST"},
    {"--saturate", "N", "run: measure from one user to saturation, and N rates in between (default 5)"},
    {"--mlperf", "SCENARIO", "run: follow LoadGen's rules: SingleStream, MultiStream, Server, Offline", false,
     "SingleStream MultiStream Server Offline"},
    {"--workload", "NAME", "run: with --mlperf: a network in your PyTorch (--set, --device) instead of a server"},
    {"--max-batchsize", "N", "run: with --workload and Server: maximum batch of waiting queries (default 1)"},
    {"--min-duration", "TIME", "run: with --mlperf: minimum duration (default 600s)"},
    {"--min-queries", "N", "run: with --mlperf: minimum queries (default: of the scenario)"},
    {"--clients", "N", "run: share the load among N processes, started by mpirun or srun"},
    {"--hosts", "FILE", "run: hosts of --clients, in mpirun's format", false, "<files>"},
    {"--resume", "", "run: skip loads that --json or the experiment folder already has"},
    {"--warmup-ratio", "R", "run: share of the time dropped at the start (default: detected)"},
    {"--cooldown-ratio", "R", "run: share of the time dropped at the end (default: detected)"},
    {"--spawn-rate", "N", "run: users started per second (default: all at once)"},
    {"--max-in-flight", "N", "run: with --request-rate: maximum concurrent requests"},
    {"--request-timeout", "TIME", "run: a request that takes longer counts as failed (default 600s)"},
    {"--stall-timeout", "TIME", "run: maximum pause within an answer (default 120s)"},
    {"--drain", "TIME", "run: time to wait for open requests at the end (default 30s)"},
    {"--no-stream", "", "run: without streaming"},
    {"--new-connections", "", "run: a new connection per request"},
    {"--no-calibrate", "", "run: skip the requests that find out how the server counts tokens"},
    {"--tokenizer", "FILE",
     "run, tokens: the model's tokenizer.json or SentencePiece file: counts tokens as the server does", false,
     "<files>"},
    {"--threads", "N", "run: threads of the client (default 1)"},
    {"--server-engine", "NAME", "run: label of the results: vLLM, SGLang, ..."},
    {"--server-version", "TEXT", "run: label"},
    {"--server-gpu-type", "NAME", "run: label: H100, ..."},
    {"--server-gpu-count", "N", "run: label"},
    {"--gpu-hour-price", "PRICE", "run: price of a GPU hour, in any currency: cost per request and per million tokens"},
    {"--telemetry", "SOURCE", "run: nvml, or a Prometheus URL: power, memory, tokens per joule", true},
    {"--seed", "N", "run: seed of prompts and arrivals (default: new for each run, as servers cache prompts)"},
    {"--experiment-folder-name", "DIR", "run: also write the results as genai-bench does"},
    {"--experiment-base-dir", "DIR", "run: parent of that folder, which gets a name if none is given"},
    {"--no-store", "", "run: do not store the results"},
    {"--db", "FILE|URL", "run, compare: database (default: WARPMARK_DB or your own file)", false, "<files>"},
    {"--json", "[FILE]", "run, selftest, compare, tokens: write the results as JSON", false, "<files>"},
    {"--requests-csv", "FILE", "run: write a row per request", false, "<files>"},
    {"--html", "FILE", "run, compare: write the report as an HTML page", false, "<files>"},
    {"--vllm-json", "FILE", "run: write the last load as vllm bench serve does", false, "<files>"},
    {"--experiment-folder", "DIR", "excel: the experiment folder", false, "<files>"},
    {"--excel-name", "FILE", "excel: the workbook (default: in the folder, with its name)", false, "<files>"},
    {"--metric-percentile", "P", "excel: statistic in tables and charts: mean (default), p25 .. p99", false,
     "mean p25 p50 p75 p90 p95 p99"},
    {"--metrics-time-unit", "UNIT", "excel, plot: s (default) or ms", false, "s ms"},
    {"--experiments-folder", "DIR", "plot: an experiment folder, or a folder of several", false, "<files>"},
    {"--preset", "NAME", "plot: 2x4_default, simple_2x2, multi_line_latency, single_scenario_analysis", false,
     "2x4_default simple_2x2 multi_line_latency single_scenario_analysis"},
    {"--plot-config", "JSON|FILE", "plot: your own plots, in genai-bench's format", false, "<files>"},
    {"--group-key", "FIELD", "plot: one line per value of traffic_scenario (default), a metadata field, or none"},
    {"--filter-criteria", "JSON", "plot: only runs with these metadata, {\"server_engine\": \"vLLM\"}"},
    {"--list-fields", "", "plot: list the fields that can be plotted"},
    {"--validate-only", "", "plot: only check the settings"},
    {"--format", "FORMAT", "plot: html (default), svg, png; compare: text (default), md, html, json", false,
     "html svg png text md json"},
    {"--out", "FILE|DIR", "plot: where to (default: into the experiments' folder)", false, "<files>"},
    {"--fail-if-worse", "",
     "compare: exit code 1 if a number is worse than the first, 3 if undecided, 5 if a client was unreliable"},
    {"--host", "ADDRESS", "server: address to listen on (default 127.0.0.1)"},
    {"--port", "N", "server: port (default 8000; 0 takes a free one)"},
    {"--network", "NAME", "server: gpt2 or llama in your PyTorch (docs/models.md) instead of scripted times", false,
     "gpt2 llama"},
    {"--set", "K=V", "run, server: parameter of the network, such as preset=base, precision=bf16, python=PATH", true},
    {"--device", "DEVICE", "run, server: device of the network (default cpu)", false, "<devices>"},
    {"--ttft", "TIME", "server: time to the first token (default 50ms)"},
    {"--itl", "TIME", "server: time between tokens (default 10ms)"},
    {"--prefill", "TIME", "server: time added per prompt token"},
    {"--jitter", "R", "server: coefficient of variation of both times"},
    {"--slots", "N", "server: concurrent answers; other requests wait"},
    {"--output-tokens", "N", "server: answer length of requests without a limit (default 128)"},
    {"--tokens-per-event", "N", "server: as speculative decoding has it (default 1)"},
    {"--reasoning-tokens", "N", "server: reasoning tokens at the start of each answer"},
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
