// Runs a task: asks, keeps what is answered, scores it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "evaluate/models/model.h"
#include "evaluate/run_task.h"
#include "evaluate/runner.h"
#include "stats/summary.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// Scores of other questions are other scores: the signature says by a part of their hash which they were.
std::string wording_of(const evaluate::Task& task) {
  constexpr std::size_t kHashShown = 8;
  std::string all = task.system + "\n" + task.prompt;
  if (task.shots > 0) all += fmt::format("\n{} {}", task.shots, task.answer);
  return "prompt:" + sha256_hex(all).substr(0, kHashShown);
}

// Who is asked, and how: a command, or a server; and the server that embeds.

evaluate::RunnerOptions runner_of(Context& context, const EvalRequest& request) {
  auto runner = request.runner;
  runner.interrupted = &context.interrupted;
  return runner;
}

/// A server that answers as `model`.
Result<evaluate::MakeModel> eval_endpoint(const Context& context, const EvalRequest& request, const std::string& url,
                                          const std::string& model) {
  evaluate::EndpointOptions endpoint;
  WM_ASSIGN(endpoint.url, http::parse_url(url));
  endpoint.model = model;
  const auto& variable = request.key_variable;
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

/// What makes a conversation partner for each thread.
Result<evaluate::MakeModel> eval_partner(const Context& context, const EvalRequest& request) {
  if (request.command.empty() == request.endpoint.empty()) {
    return usage_error("who is to answer?",
                       "--endpoint URL of an OpenAI-compatible server, or --command CMD: a program "
                       "that reads requests and writes answers as JSON lines");
  }
  if (!request.endpoint.empty()) return eval_endpoint(context, request, request.endpoint, request.scores.model.model);
  return evaluate::MakeModel([command = request.command]() -> Result<std::unique_ptr<evaluate::Model>> {
    return evaluate::command_model(command);
  });
}

/// What of the partner decides its answers.
std::string identity_of(const EvalRequest& request) {
  const auto& model = request.scores.model;
  return model.model + " " + model.version + " " + (request.endpoint.empty() ? request.command : request.endpoint);
}

fs::path run_folder(const EvalRequest& request, const evaluate::Task& task) {
  if (!request.run_folder.empty()) return request.run_folder;
  constexpr std::size_t kHashShown = 8;
  return fmt::format("{}-{}.run", task.name, sha256_hex(identity_of(request)).substr(0, kHashShown));
}

void print_efficiency(Context& context, const evaluate::Task& task, const evaluate::Efficiency& efficiency) {
  auto latencies = efficiency.latencies_s;
  if (latencies.empty()) return;
  std::sort(latencies.begin(), latencies.end());
  double sum = 0;
  for (const double latency : latencies) sum += latency;
  context.out << fmt::format("latency of {} answers: median {:.3f} s, 95th percentile {:.3f} s, together {:.1f} s\n",
                             latencies.size(), stats::quantile_of_sorted(latencies, 0.5),
                             stats::quantile_of_sorted(latencies, 0.95), sum);
  if (efficiency.without_usage == latencies.size()) {
    context.out << "tokens: not reported by the model\n";
    return;
  }
  context.out << fmt::format("tokens: {} in, {} out", efficiency.prompt_tokens, efficiency.output_tokens);
  if (efficiency.without_usage > 0)
    context.out << fmt::format(" ({} answers without counts)", efficiency.without_usage);
  if (efficiency.cost > 0) context.out << fmt::format("; cost {:.4f} {}", efficiency.cost, task.cost.currency);
  context.out << '\n';
}

Json efficiency_json(const evaluate::Task& task, const evaluate::Efficiency& efficiency) {
  auto latencies = efficiency.latencies_s;
  if (latencies.empty()) return Json::object();
  std::sort(latencies.begin(), latencies.end());
  Json json{{"answers", latencies.size()},
            {"latency_median_s", stats::quantile_of_sorted(latencies, 0.5)},
            {"latency_p95_s", stats::quantile_of_sorted(latencies, 0.95)},
            {"answers_without_token_counts", efficiency.without_usage}};
  if (efficiency.without_usage < latencies.size()) {
    json["prompt_tokens"] = efficiency.prompt_tokens;
    json["output_tokens"] = efficiency.output_tokens;
  }
  if (efficiency.cost > 0) {
    json["cost"] = efficiency.cost;
    json["currency"] = task.cost.currency;
  }
  return {{"efficiency", json}};
}

Result<int> score_run(Context& context, const ParsedOptions& options, const EvalRequest& request,
                      const evaluate::LoadedTask& inputs, const evaluate::TaskOutcome& outcome,
                      const accuracy::MetricSet& metrics, const fs::path& folder) {
  auto score_options = eval_score_options(request, inputs.sha256);
  if (request.scores.dataset.name.empty()) score_options.dataset.name = inputs.task.name;
  if (score_options.dataset.version.empty()) score_options.dataset.version = inputs.task.version;
  if (score_options.dataset.split.empty()) score_options.dataset.split = inputs.task.data.split;
  WM_ASSIGN(auto scores, accuracy::score_systems(outcome.examples, metrics.metrics, score_options));
  for (auto& score : scores) score.signature += (score.signature.empty() ? "" : "|") + wording_of(inputs.task);
  const Json auxiliary = efficiency_json(inputs.task, outcome.efficiency);
  print_scores_as(context, request.format, scores, outcome.examples, auxiliary);
  if (request.format == "text") {
    print_efficiency(context, inputs.task, outcome.efficiency);
    context.out << "answers: " << (folder / "answers.jsonl").string() << '\n';
  }
  WM_TRY(keep_scores(context, options, request, scores, auxiliary));
  return kSuccess;
}

}  // namespace

Result<int> eval_run(Context& context, const ParsedOptions& options, const EvalRequest& request) {
  const auto& words = options.positionals();
  if (words.size() < 2) return usage_error("which task?", "warpmark eval run task.yaml --command CMD");
  if (words.size() > 2) return usage_error("unexpected: " + words[2], "one task at a time");
  WM_ASSIGN(const auto inputs, evaluate::load_task(words[1], request.limit));
  const evaluate::Task& task = inputs.task;
  WM_ASSIGN(const auto metrics, eval_metrics(context, request.settings, join(task.metrics, ",")));
  WM_ASSIGN(const auto make, eval_partner(context, request));
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  const fs::path folder = run_folder(request, task);
  const auto& model = request.scores.model.model;
  set_crash_messages("\nwarpmark: interrupted; answers so far are kept; run the same command again to resume\n", "");
  StepBar bar(context);
  auto run = evaluate::run_task(
      inputs, {.make = make, .identity = identity_of(request), .system = model.empty() ? task.name : model}, folder,
      runner_of(context, request), request.scores.resample.seed,
      [&](const auto& progress) { show_run_progress(bar, progress); });
  bar.clear();
  set_crash_messages("\n", "");
  if (!run.ok()) return run.error();
  if (run->asked.interrupted) {
    context.err << fmt::format(
        "warpmark: interrupted; {} of {} answers are kept in {}; run the same command again to resume\n", run->kept,
        run->items, folder.string());
    return kInterrupted;
  }
  auto& outcome = run->outcome;
  WM_TRY(eval_embeddings(context, request, std::vector(outcome.examples.systems.size(), folder), outcome.examples));
  return score_run(context, options, request, inputs, outcome, metrics, folder);
}

void show_run_progress(StepBar& bar, const evaluate::RunnerProgress& progress) {
  const auto done = static_cast<std::int64_t>(progress.done), of = static_cast<std::int64_t>(progress.of);
  bar.update(done, of,
             fmt::format("{} of {} answered{}, {} failed; {} tokens in, {} out", done, of,
                         progress.cached > 0 ? fmt::format(" ({} known)", progress.cached) : "", progress.failed,
                         progress.prompt_tokens, progress.output_tokens));
}

Status eval_embeddings(Context& context, const EvalRequest& request, const std::vector<std::filesystem::path>& folders,
                       accuracy::Examples& examples) {
  const auto &url = request.embeddings, &model = request.embedding_model;
  if (url.empty()) {
    return !model.empty() ? usage_error("--embedding-model is for --embeddings URL") : Status();
  }
  WM_ASSIGN(const auto make, eval_endpoint(context, request, url, model));
  const evaluate::EmbedOptions embed{
      .identity = model + " " + url, .folders = folders, .runner = runner_of(context, request)};
  constexpr std::size_t kHashShown = 8;
  std::filesystem::path folder = request.run_folder;
  if (folder.empty()) folder = fmt::format("embeddings-{}.run", sha256_hex(embed.identity).substr(0, kHashShown));
  WM_TRY(make_named_folder(folder));
  WM_ASSIGN(const auto journal, evaluate::Journal::open(folder / "embeddings.jsonl"));
  StepBar bar(context);
  const Status done = evaluate::embed_examples(examples, *journal, make, embed,
                                               [&](const auto& progress) { show_run_progress(bar, progress); });
  bar.clear();
  return done;
}

}  // namespace warpmark::apps
