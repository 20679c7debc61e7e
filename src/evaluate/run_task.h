// A task from its file to what was answered: an edge that reads files, asks a model, and keeps its answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evaluate/outcome.h"
#include "evaluate/pictures.h"
#include "evaluate/runner.h"
#include "evaluate/task.h"

namespace warpmark::evaluate {

struct LoadedTask {
  Task task;
  std::vector<accuracy::Record> data;
  std::vector<accuracy::Record> shots;
  Pictures pictures;
  std::string sha256;  ///< of the data file
};

/// The task with its data; the first `limit` examples, or as many as the task says with 0.
[[nodiscard]] Result<LoadedTask> load_task(const std::filesystem::path& file, std::int64_t limit = 0);

struct Partner {
  MakeModel make;
  std::string identity;  ///< what of it decides its answers: model, address, command
  std::string system;    ///< its name among scores
};

struct TaskRun {
  TaskOutcome outcome;  ///< nothing where it was interrupted
  RunnerResult asked;
  std::size_t items = 0;  ///< requests
  std::size_t kept = 0;   ///< replies in the journal
};

/// Asks what `folder` has no answers to yet, and writes there journal.jsonl, answers.jsonl and, for each variant,
/// answers.VARIANT.jsonl. Environment error where nothing was answered at all, or the sandbox that the task needs does
/// not work here.
[[nodiscard]] Result<TaskRun> run_task(const LoadedTask& loaded, const Partner& partner,
                                       const std::filesystem::path& folder, const RunnerOptions& options,
                                       std::uint64_t seed, const std::function<void(const RunnerProgress&)>& progress);

}  // namespace warpmark::evaluate
