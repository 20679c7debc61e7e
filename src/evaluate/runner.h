// Asks a model all items of a task: several at once, failures again after a while, answers kept as they come.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evaluate/items.h"
#include "evaluate/journal.h"
#include "evaluate/models/model.h"

namespace warpmark::evaluate {

struct RunnerOptions {
  int concurrency = 4;
  int retries = 4;
  double deadline_s = 120;    ///< of one request
  double first_wait_s = 0.5;  ///< before the first retry; doubled each time, at most 30 s
  const std::atomic<bool>* interrupted = nullptr;
};

struct RunnerProgress {
  std::size_t done = 0;
  std::size_t of = 0;
  std::size_t cached = 0;  ///< of those done, answered by an earlier run
  std::size_t failed = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

struct RunnerResult {
  std::vector<std::string> failures;  ///< by item; empty where there is a reply in the journal
  RunnerProgress progress;
  bool interrupted = false;
  std::string gone;  ///< why the rest was not asked: the model stopped answering; empty if it did not
};

/// `progress` is called from the caller's thread now and then. Errors: the journal cannot be written, or no thread
/// could make its model.
[[nodiscard]] Result<RunnerResult> ask_all(const std::vector<Item>& items, Journal& journal, const MakeModel& make,
                                           const RunnerOptions& options,
                                           const std::function<void(const RunnerProgress&)>& progress);

}  // namespace warpmark::evaluate
