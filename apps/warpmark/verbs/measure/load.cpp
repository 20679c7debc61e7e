// Load on inference servers, and the server to try it on.
#include "warpmark/load/load.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "loadtest/options.h"
#include "warpmark/load/load_server.h"
#include "warpmark/load/peers/peer_options.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

using serving::ReferenceScript;
using ReferenceServer = serving::ReferenceServerOptions;
using Server = LoadServerRequest;
using Chart = ChartRequest;
using Network = loadtest::NetworkRequest;

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

constexpr auto kLoadOptions = joined(of("run", loadtest::kServerOptions), of("run", loadtest::kLoadOptions),
                                     of("plot", kChartOptions), of("server", kServerOptions));

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
