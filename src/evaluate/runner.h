// Asks a model all items of a task: several at once, failures again after a while, answers kept as they come.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "base/lines/line_file.h"
#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/models/model.h"

namespace warpmark::evaluate {

// What has been answered already, by the hash of the request: a file that is only appended to, so that a killed run
// loses at most the answers under way, and asks nothing twice.

class Journal {
 public:
  /// Reads what is there; a last line that was cut off by a crash is dropped. Data error for other damage, environment
  /// error if the file cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& path);

  /// Any thread.
  [[nodiscard]] const Reply* find(const std::string& hash) const;
  /// On disk when it returns. Any thread.
  [[nodiscard]] Status append(const std::string& hash, const Reply& reply);
  [[nodiscard]] std::size_t size() const;

 private:
  explicit Journal(LineFile file) : file_(std::move(file)) {}
  mutable std::mutex mutex_;
  std::map<std::string, Reply> replies_;  ///< a map: addresses stay
  LineFile file_;
};

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

// Embeddings of references and answers from a server, for the metrics that compare them: texts, and pictures where an
// answer has a field 'image'. What is embedded once is kept in the journal.

struct EmbedOptions {
  std::string identity;                        ///< of the model: decides with the text what is known already
  std::vector<std::filesystem::path> folders;  ///< by system: where the pictures that its answers name are
  RunnerOptions runner;
};

/// Fills in `embedding`, or the field 'token_embeddings' where the server embeds each token. Of several references the
/// first is taken. An answer that is empty or could not be embedded has a problem; a reference that could not is an
/// environment error, as nothing can be scored by it. Interrupted: environment error.
[[nodiscard]] Status embed_examples(accuracy::Examples& examples, Journal& journal, const MakeModel& make,
                                    const EmbedOptions& options,
                                    const std::function<void(const RunnerProgress&)>& progress);

}  // namespace warpmark::evaluate
