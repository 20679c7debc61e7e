// The accuracy gate of other verbs: new answers must not be worse than those of the base by a margin.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "accuracy/significance/comparison.h"
#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The rows that a verb with this gate has among its options.
inline constexpr OptionSpec kEvalGate = {
    "--eval", "METRIC=MARGIN",
    "accuracy gate: maximum loss of the new answers, in the metric's unit; or TASK.yaml=MARGIN"};
inline constexpr OptionSpec kEvalGateModel = {"--eval-model", "WHO",
                                              "accuracy gate by a task: who answers, the base and then the new: "
                                              "http://HOST/v1#MODEL, a command, or answers.jsonl",
                                              true};
inline constexpr OptionSpec kEvalGateAnswers = {
    "--eval-answers", "BASE,NEW", "accuracy gate: answers of `eval run`, or any with --eval-ref", false, "<files>"};
inline constexpr OptionSpec kEvalGateReference = {"--eval-ref", "FILE", "accuracy gate: the references"};

/// The new answers against the base's by one metric; the margin is the largest loss to accept. `reference` may be
/// empty.
[[nodiscard]] Result<std::vector<accuracy::SystemComparison>> compare_answers(Context& context,
                                                                              const std::string& metric, double margin,
                                                                              const std::string& reference,
                                                                              const std::vector<std::string>& files);

/// Metrics or a task's file, and the margin. Usage error for another form.
[[nodiscard]] Result<std::pair<std::string, double>> eval_gate_of(const std::string& text);

/// "TASK.yaml=MARGIN".
[[nodiscard]] bool is_eval_task(const std::string& gate);

/// The exit code together with the gate's, which is told on `context.err`: 4 where the new answers are worse, 3 where
/// the margin cannot be ruled out and nothing else failed. `code` itself without the options.
[[nodiscard]] Result<int> with_eval_gate(Context& context, const ParsedOptions& options, int code);

/// Usage and data errors of the gate, before anything is measured.
[[nodiscard]] Status check_eval_gate(Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
