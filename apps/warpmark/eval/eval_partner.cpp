// Who is asked, and how: a command, or a server; and the server that embeds.
#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/sha256.h"
#include "base/units.h"
#include "evaluate/models/model.h"
#include "evaluate/runner.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/progress.h"

namespace warpmark::apps {

Result<evaluate::MakeModel> eval_endpoint(const Context& context, const ParsedOptions& options, const std::string& url,
                                          const std::string& model) {
  evaluate::EndpointOptions endpoint;
  WM_ASSIGN(endpoint.url, http::parse_url(url));
  endpoint.model = model;
  const std::string variable = options.get("--api-key-env");
  if (!variable.empty()) {
    const char* key = context.environment(variable.c_str());
    if (key == nullptr || *key == '\0') {
      return usage_error("the environment has no variable " + variable, "--api-key-env names the one with the key");
    }
    endpoint.api_key = key;
  }
  return evaluate::MakeModel(
      [endpoint]() -> Result<std::unique_ptr<evaluate::Model>> { return evaluate::endpoint_model(endpoint); });
}

Result<evaluate::MakeModel> eval_partner(const Context& context, const ParsedOptions& options) {
  if (options.has("--command") == options.has("--endpoint")) {
    return usage_error("who is to answer?",
                       "--endpoint URL of an OpenAI-compatible server, or --command CMD: a program "
                       "that reads requests and writes answers as JSON lines");
  }
  if (options.has("--endpoint")) {
    return eval_endpoint(context, options, options.get("--endpoint"), options.get("--model"));
  }
  const std::string command = options.get("--command");
  return evaluate::MakeModel(
      [command]() -> Result<std::unique_ptr<evaluate::Model>> { return evaluate::command_model(command); });
}

Result<evaluate::RunnerOptions> eval_runner_options(Context& context, const ParsedOptions& options) {
  evaluate::RunnerOptions result;
  WM_ASSIGN(const auto concurrency, count_of(options, "--concurrency", 4, 1, 1024));
  WM_ASSIGN(const auto retries, count_of(options, "--retries", 4, 0, 1000));
  result.concurrency = static_cast<int>(concurrency);
  result.retries = static_cast<int>(retries);
  if (options.has("--timeout")) {
    WM_ASSIGN(result.deadline_s, parse_duration_s(options.get("--timeout")));
    if (!(result.deadline_s > 0)) return usage_error("--timeout must be above 0");
  }
  result.interrupted = &context.interrupted;
  return result;
}

void show_run_progress(StepBar& bar, const evaluate::RunnerProgress& progress) {
  const auto done = static_cast<std::int64_t>(progress.done), of = static_cast<std::int64_t>(progress.of);
  bar.update(done, of,
             fmt::format("{} of {} answered{}, {} failed; {} tokens in, {} out", done, of,
                         progress.cached > 0 ? fmt::format(" ({} known)", progress.cached) : "", progress.failed,
                         progress.prompt_tokens, progress.output_tokens));
}

Status eval_embeddings(Context& context, const ParsedOptions& options,
                       const std::vector<std::filesystem::path>& folders, accuracy::Examples& examples) {
  if (!options.has("--embeddings")) {
    return options.has("--embedding-model") ? usage_error("--embedding-model is for --embeddings URL") : Status();
  }
  const std::string url = options.get("--embeddings"), model = options.get("--embedding-model");
  WM_ASSIGN(const auto make, eval_endpoint(context, options, url, model));
  evaluate::EmbedOptions embed{.identity = model + " " + url, .folders = folders, .runner = {}};
  WM_ASSIGN(embed.runner, eval_runner_options(context, options));
  constexpr std::size_t kHashShown = 8;
  const std::filesystem::path folder =
      options.get("--run-dir", fmt::format("embeddings-{}.run", sha256_hex(embed.identity).substr(0, kHashShown)));
  WM_TRY(make_named_folder(folder));
  WM_ASSIGN(const auto journal, evaluate::Journal::open(folder / "embeddings.jsonl"));
  StepBar bar(context);
  const Status done = evaluate::embed_examples(examples, *journal, make, embed,
                                               [&](const auto& progress) { show_run_progress(bar, progress); });
  bar.clear();
  return done;
}

}  // namespace warpmark::apps
