// The gate of an accuracy task: does what was changed still answer as well as what it was changed from? Both are asked
// the same items, and the task's first metric may lose no more than a margin: one-sided at alpha, as non-inferiority is
// tested. What cannot be told from so many items is undecided and neither accepted nor rejected.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "accuracy/significance/comparison.h"
#include "evaluate/run_task.h"

namespace warpmark::evaluate {

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
