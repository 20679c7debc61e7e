// A task from its file to what was answered: an edge that reads files, asks a model, and keeps its answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "accuracy/significance/comparison.h"
#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/models/model.h"
#include "evaluate/runner.h"
#include "evaluate/task.h"

namespace warpmark::evaluate {

struct Efficiency {
  std::vector<double> latencies_s;  ///< of replies, cached ones as they were when asked
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::size_t without_usage = 0;  ///< replies that do not tell their tokens
  double cost = 0;
};

struct TaskOutcome {
  accuracy::Examples examples;       ///< systems: the plain variant, named by the model, then the others
  std::vector<std::string> records;  ///< by system: jsonl with references and answers, as eval compare reads them
  Efficiency efficiency;
};

/// The reply to the request with this hash; nullptr without one.
using FindReply = std::function<const Reply*(const std::string& hash)>;

/// Executes code in the sandbox where the task says so. A reply that is empty or no UTF-8, and an item without one, is
/// an answer with a problem; one that was cut off is scored as it is. Samples of an item: each of them for code, else
/// the most frequent extracted answer.
[[nodiscard]] Result<TaskOutcome> outcome_of(const Task& task, const std::vector<accuracy::Record>& data,
                                             const std::vector<Item>& items, const RunnerResult& result,
                                             const FindReply& find_reply, const std::string& system,
                                             const std::atomic<bool>* interrupted);

/// How likely a model says that a text is: out of the log-probabilities in its reply.
/// The sum over the tokens that hold a character of the text that is weighed, as lm-evaluation-harness sums them; of a
/// command's reply also its "log_likelihood". Data error where the reply does not tell.
[[nodiscard]] Result<double> log_likelihood_of(const Item& item, const Reply& reply);

/// Of A, B, ... as the first token: the mass over its spellings with and without space. A letter that is not among the
/// tokens the server lists gets the log-probability of the least of these, which is more than its own. Data error where
/// no letter is listed.
[[nodiscard]] Result<std::vector<double>> letter_log_likelihoods(const Reply& reply, std::size_t choices);

/// Log-probabilities of the spellings of a word as the first token, whatever their case and the white space around
/// them; empty if none is listed. Data error where the server lists nothing.
[[nodiscard]] Result<std::vector<double>> spelling_logprobs(const Reply& reply, std::string_view lower_case_word);

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

/// One of the two: a model that is asked, or a file of answers from before.
struct GateSide {
  Partner partner;
  std::filesystem::path answers;  ///< of a run of the task; empty: the partner is asked
};

/// "http://127.0.0.1:8000/v1#NAME" is an OpenAI-compatible server and its model's name, "base.jsonl" answers that
/// `eval run` wrote, anything else a command that answers requests as JSON lines. `system` is its name in the result.
[[nodiscard]] Result<GateSide> gate_side(const std::string& text, const std::string& system);

enum class GateAnswer { accepted, rejected, undecided };

struct GateOptions {
  double margin = 0;  ///< largest loss to accept, in the metric's unit; not negative
  double alpha = 0.05;
  std::uint64_t seed = 12345;
  std::filesystem::path folder;  ///< answers are kept below it, in base/ and new/; what is there is asked again
  RunnerOptions runner;
};

struct GateResult {
  GateAnswer answer = GateAnswer::undecided;
  std::vector<accuracy::SystemComparison> comparisons;  ///< by metric
  /// Answers that could not be used, which count as wrong: "new: is empty (3)".
  std::vector<std::string> problems;
};

/// `examples` have the systems base and new. Any metric that is worse rejects, one that is undecided leaves it so.
[[nodiscard]] Result<GateResult> judge_gate(const accuracy::Examples& examples,
                                            const std::vector<accuracy::NamedMetric>& metrics,
                                            const GateOptions& options);

/// Asks both sides and judges. `progress` as in ask_all. Environment error where a side does not answer at all, or it
/// was interrupted.
[[nodiscard]] Result<GateResult> task_gate(const LoadedTask& loaded, const GateSide& base, const GateSide& changed,
                                           const GateOptions& options,
                                           const std::function<void(const RunnerProgress&)>& progress);

}  // namespace warpmark::evaluate
