// Runs a task: asks, keeps what is answered, scores it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "accuracy/datasets/datasets.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/units.h"
#include "evaluate/models/command_model.h"
#include "evaluate/outcome.h"
#include "evaluate/sandbox/sandbox.h"
#include "stats/order_statistics.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_output.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostTaskBytes = 256 << 10;
constexpr std::int64_t kMostDataBytes = std::int64_t{4} << 30;

struct TaskInputs {
  evaluate::Task task;
  std::vector<accuracy::Record> data;
  std::vector<accuracy::Record> shots;
  evaluate::Pictures pictures;
  std::string sha256;  ///< of the data file
};

Result<std::vector<accuracy::Record>> task_records(const fs::path& folder, const evaluate::TaskData& data,
                                                   const accuracy::FieldNames& fields, std::string* sha256) {
  const fs::path path = folder / data.file;
  WM_ASSIGN(const auto bytes, read_file(path, kMostDataBytes));
  if (sha256 != nullptr) *sha256 = sha256_hex(bytes);
  WM_ASSIGN(auto records, accuracy::parse_dataset(bytes, path.string(), data.format, fields));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].id.empty()) records[i].id = std::to_string(i);
  }
  return records;
}

Result<TaskInputs> task_inputs(const ParsedOptions& options) {
  const auto& words = options.positionals();
  if (words.size() < 2) return usage_error("which task?", "warpmark eval run task.yaml --command CMD");
  if (words.size() > 2) return usage_error("unexpected: " + words[2], "one task at a time");
  const fs::path file = words[1];
  WM_ASSIGN(const auto text, read_file(file, kMostTaskBytes));
  TaskInputs inputs;
  WM_ASSIGN(inputs.task, evaluate::parse_task(text, file.string()));
  WM_ASSIGN(inputs.data, task_records(file.parent_path(), inputs.task.data, inputs.task.fields, &inputs.sha256));
  WM_ASSIGN(const auto limit, count_of(options, "--limit", inputs.task.data.limit, 0, 1'000'000'000));
  if (limit > 0 && static_cast<std::size_t>(limit) < inputs.data.size()) {
    inputs.data.resize(static_cast<std::size_t>(limit));
  }
  if (inputs.data.empty()) return data_error(inputs.task.data.file + " has no examples");
  if (!inputs.task.few_shot.file.empty()) {
    WM_ASSIGN(inputs.shots, task_records(file.parent_path(), inputs.task.few_shot, inputs.task.fields, nullptr));
  }
  WM_ASSIGN(inputs.pictures, evaluate::pictures_of(inputs.task, inputs.data, file.parent_path()));
  return inputs;
}

/// Scores of other questions are other scores: the signature says by a part of their hash which they were.
std::string wording_of(const evaluate::Task& task) {
  constexpr std::size_t kHashShown = 8;
  std::string all = task.system + "\n" + task.prompt;
  if (task.shots > 0) all += fmt::format("\n{} {}", task.shots, task.answer);
  return "prompt:" + sha256_hex(all).substr(0, kHashShown);
}

/// What of the partner decides its answers.
std::string identity_of_options(const ParsedOptions& options) {
  const std::string model = options.get("--model") + " " + options.get("--model-version");
  return model + " " + (options.has("--endpoint") ? options.get("--endpoint") : options.get("--command"));
}

fs::path run_folder(const ParsedOptions& options, const evaluate::Task& task) {
  if (options.has("--run-dir")) return options.get("--run-dir");
  constexpr std::size_t kHashShown = 8;
  return fmt::format("{}-{}.run", task.name, sha256_hex(identity_of_options(options)).substr(0, kHashShown));
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
    context.out << "tokens: not told by the model\n";
    return;
  }
  context.out << fmt::format("tokens: {} in, {} out", efficiency.prompt_tokens, efficiency.output_tokens);
  if (efficiency.without_usage > 0) context.out << fmt::format(" ({} answers do not tell)", efficiency.without_usage);
  if (efficiency.cost > 0) context.out << fmt::format("; cost {:.4f} {}", efficiency.cost, task.cost.currency);
  context.out << '\n';
}

Status write_answers(const fs::path& folder, const evaluate::Task& task, const evaluate::TaskOutcome& outcome) {
  for (std::size_t i = 0; i < outcome.records.size(); ++i) {
    const std::string name = i == 0 ? "answers.jsonl" : "answers." + task.variants[i - 1] + ".jsonl";
    WM_TRY(write_file(folder / name, outcome.records[i]));
  }
  return {};
}

Result<int> score_run(Context& context, const ParsedOptions& options, const TaskInputs& inputs,
                      const evaluate::TaskOutcome& outcome, const EvalMetrics& metrics, const fs::path& folder) {
  WM_ASSIGN(auto score_options, eval_score_options(options, inputs.sha256));
  const bool named = options.has("--dataset");
  if (!named) score_options.dataset.name = inputs.task.name;
  if (score_options.dataset.version.empty()) score_options.dataset.version = inputs.task.version;
  if (score_options.dataset.split.empty()) score_options.dataset.split = inputs.task.data.split;
  WM_ASSIGN(auto scores, accuracy::score_systems(outcome.examples, metrics.metrics, score_options));
  for (auto& score : scores) score.signature += (score.signature.empty() ? "" : "|") + wording_of(inputs.task);
  WM_ASSIGN(const auto format, format_of(options, {"text", "json"}));
  print_scores_as(context, format, scores, outcome.examples);
  if (format == "text") {
    print_efficiency(context, inputs.task, outcome.efficiency);
    context.out << "answers: " << (folder / "answers.jsonl").string() << '\n';
  }
  WM_TRY(keep_scores(context, options, scores));
  return kSuccess;
}

}  // namespace

Result<int> eval_run(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto inputs, task_inputs(options));
  const evaluate::Task& task = inputs.task;
  std::string names;
  for (const auto& metric : task.metrics) names += (names.empty() ? "" : ",") + metric;
  WM_ASSIGN(const auto metrics, eval_metrics(context, options, names));
  WM_ASSIGN(const auto settings, eval_runner_options(context, options));
  WM_ASSIGN(const auto make, eval_partner(context, options));
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  if (task.execution.enabled) WM_TRY(evaluate::sandbox_works());
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 12345, 0, INT64_MAX));
  WM_ASSIGN(const auto items, evaluate::items_of(task, inputs.data, inputs.shots, identity_of_options(options),
                                                 static_cast<std::uint64_t>(seed), inputs.pictures));
  const fs::path folder = run_folder(options, task);
  WM_TRY(make_named_folder(folder));
  WM_ASSIGN(const auto journal, evaluate::Journal::open(folder / "journal.jsonl"));
  set_last_words("\nwarpmark: interrupted; what was answered is kept, the same command goes on from there\n", "");
  const auto asked = evaluate::ask_all(items, *journal, make, settings,
                                       [&](const auto& progress) { show_run_progress(context, progress); });
  if (context.err_is_terminal) context.err << "\r\x1b[K";
  set_last_words("\n", "");
  WM_TRY(asked.ok() ? Status() : Status(asked.error()));
  if (asked->interrupted) {
    context.err << fmt::format("warpmark: interrupted; {} of {} answers are kept in {}, the same command goes on\n",
                               journal->size(), items.size(), folder.string());
    return kInterrupted;
  }
  const std::string system = options.get("--model", task.name);
  WM_ASSIGN(auto outcome,
            evaluate::outcome_of(task, inputs.data, items, *asked, *journal, system, &context.interrupted));
  WM_TRY(write_answers(folder, task, outcome));
  const bool none = asked->progress.failed == items.size();
  if (none) {
    return environment_error("no item was answered: " + asked->failures.front(),
                             "is the model there? see " + folder.string());
  }
  WM_TRY(eval_embeddings(context, options, std::vector(outcome.examples.systems.size(), folder), outcome.examples));
  return score_run(context, options, inputs, outcome, metrics, folder);
}

}  // namespace warpmark::apps
