#include "evaluate/run_task.h"

#include <fmt/format.h>

#include "accuracy/datasets/datasets.h"
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

}  // namespace warpmark::evaluate
