#include "evaluate/run_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/datasets/datasets.h"
#include "accuracy/scoring/scores.h"
#include "base/files.h"
#include "base/sha256.h"
#include "evaluate/sandbox/sandbox.h"

namespace warpmark::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostTaskBytes = 256 << 10;
constexpr std::int64_t kMostDataBytes = std::int64_t{4} << 30;

Result<std::vector<accuracy::Record>> task_records(const fs::path& folder, const TaskData& data,
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

Status write_answers(const fs::path& folder, const Task& task, const TaskOutcome& outcome) {
  for (std::size_t i = 0; i < outcome.records.size(); ++i) {
    const std::string name = i == 0 ? "answers.jsonl" : "answers." + task.variants[i - 1] + ".jsonl";
    WM_TRY(write_file(folder / name, outcome.records[i]));
  }
  return {};
}

/// The records of a side, as a file has them: of a run that is made, or of one made before.
Result<std::vector<accuracy::Record>> side_records(const LoadedTask& loaded, const GateSide& side,
                                                   const GateOptions& options, const std::filesystem::path& folder,
                                                   const std::function<void(const RunnerProgress&)>& progress) {
  if (!side.answers.empty()) {
    return accuracy::read_records(side.answers.string(), accuracy::Side::output, loaded.task.fields);
  }
  // A gate never takes answers of another run: what stands behind an address may have changed.
  WM_TRY(make_named_folder(folder.parent_path()));
  std::error_code none;
  std::filesystem::remove(folder / "journal.jsonl", none);
  WM_ASSIGN(const auto run, run_task(loaded, side.partner, folder, options.runner, options.seed, progress));
  if (run.asked.interrupted) return environment_error("interrupted");
  return accuracy::parse_records(run.outcome.records.front(), "answers.jsonl", accuracy::Side::output,
                                 loaded.task.fields);
}

}  // namespace

Result<LoadedTask> load_task(const fs::path& file, std::int64_t limit) {
  WM_ASSIGN(const auto text, read_file(file, kMostTaskBytes));
  LoadedTask loaded;
  WM_ASSIGN(loaded.task, parse_task(text, file.string()));
  const Task& task = loaded.task;
  const fs::path folder = file.parent_path();
  WM_ASSIGN(loaded.data, task_records(folder, task.data, task.fields, &loaded.sha256));
  const auto most = static_cast<std::size_t>(limit > 0 ? limit : task.data.limit);
  if (most > 0 && most < loaded.data.size()) loaded.data.resize(most);
  if (loaded.data.empty()) return data_error(task.data.file + " has no examples");
  if (!task.few_shot.file.empty()) {
    WM_ASSIGN(loaded.shots, task_records(folder, task.few_shot, task.fields, nullptr));
  }
  WM_ASSIGN(loaded.pictures, pictures_of(task, loaded.data, folder));
  return loaded;
}

Result<TaskRun> run_task(const LoadedTask& loaded, const Partner& partner, const fs::path& folder,
                         const RunnerOptions& options, std::uint64_t seed,
                         const std::function<void(const RunnerProgress&)>& progress) {
  const Task& task = loaded.task;
  if (task.execution.enabled) WM_TRY(sandbox_works());
  WM_ASSIGN(const auto items, items_of(task, loaded.data, loaded.shots, partner.identity, seed, loaded.pictures));
  WM_TRY(make_named_folder(folder));
  WM_ASSIGN(const auto journal, Journal::open(folder / "journal.jsonl"));
  TaskRun run{.outcome = {}, .asked = {}, .items = items.size()};
  WM_ASSIGN(run.asked, ask_all(items, *journal, partner.make, options, progress));
  run.kept = journal->size();
  if (run.asked.interrupted) return run;
  if (!run.asked.gone.empty() && run.asked.progress.failed < items.size()) {
    return environment_error(fmt::format("the model stopped answering, so that nothing is scored: {}", run.asked.gone),
                             fmt::format("{} of {} answers are kept in {}: run the same command again to resume",
                                         items.size() - run.asked.progress.failed, items.size(), folder.string()));
  }
  WM_ASSIGN(run.outcome,
            outcome_of(
                task, loaded.data, items, run.asked, [&](const std::string& hash) { return journal->find(hash); },
                partner.system, options.interrupted));
  WM_TRY(write_answers(folder, task, run.outcome));
  if (run.asked.progress.failed == items.size()) {
    return environment_error("no item was answered: " + run.asked.failures.front(),
                             "is the model there? see " + folder.string());
  }
  return run;
}

Result<GateSide> gate_side(const std::string& text, const std::string& system) {
  GateSide side;
  side.partner.system = system;
  side.partner.identity = text;
  if (text.starts_with("http://") || text.starts_with("https://")) {
    const auto mark = text.find('#');
    EndpointOptions endpoint;
    WM_ASSIGN(endpoint.url, http::parse_url(text.substr(0, mark)));
    if (mark != std::string::npos) endpoint.model = text.substr(mark + 1);
    side.partner.make = [endpoint]() -> Result<std::unique_ptr<Model>> { return endpoint_model(endpoint); };
  } else if (text.ends_with(".jsonl")) {
    side.answers = text;
  } else if (text.empty()) {
    return usage_error("a side of the gate is empty", "http://HOST/v1#MODEL, a file of answers, or a command");
  } else {
    side.partner.make = [text]() -> Result<std::unique_ptr<Model>> { return command_model(text); };
  }
  return side;
}

Result<GateResult> judge_gate(const accuracy::Examples& examples, const std::vector<accuracy::NamedMetric>& metrics,
                              const GateOptions& options) {
  accuracy::CompareSystemsOptions settings;
  settings.margin = options.margin;
  settings.alpha = options.alpha;
  settings.resample.seed = options.seed;
  GateResult result;
  WM_ASSIGN(result.comparisons, accuracy::compare_systems(examples, metrics, settings));
  const auto any = [&](accuracy::SystemVerdict verdict) {
    return std::any_of(result.comparisons.begin(), result.comparisons.end(),
                       [&](const auto& one) { return one.verdict == verdict; });
  };
  result.answer = any(accuracy::SystemVerdict::worse)       ? GateAnswer::rejected
                  : any(accuracy::SystemVerdict::undecided) ? GateAnswer::undecided
                                                            : GateAnswer::accepted;
  for (std::size_t s = 0; s < examples.systems.size(); ++s) {
    for (const auto& problem : accuracy::problems_of(examples, s)) {
      result.problems.push_back(examples.systems[s] + ": " + problem);
    }
  }
  return result;
}

Result<GateResult> task_gate(const LoadedTask& loaded, const GateSide& base, const GateSide& changed,
                             const GateOptions& options, const std::function<void(const RunnerProgress&)>& progress) {
  WM_ASSIGN(const auto metrics, accuracy::metrics_named({loaded.task.metrics.front()}, {}));
  std::vector<accuracy::SystemRecords> systems;
  for (const GateSide* side : {&base, &changed}) {
    const bool is_base = side == &base;
    WM_ASSIGN(auto records,
              side_records(loaded, *side, options, options.folder / (is_base ? "base" : "new"), progress));
    const std::string path = side->answers.empty() ? side->partner.system : side->answers.string();
    systems.push_back({side->partner.system, path, std::move(records)});
  }
  WM_ASSIGN(const auto examples, accuracy::join_examples({loaded.data}, std::move(systems), loaded.task.fields));
  return judge_gate(examples, metrics, options);
}

}  // namespace warpmark::evaluate
