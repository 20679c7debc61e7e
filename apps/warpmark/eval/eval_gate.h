// The accuracy gate of other verbs: new answers must not be worse than those of the base by a margin.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The rows that a verb with this gate has among its options.
inline constexpr OptionSpec kEvalGate = {"--eval", "METRIC=MARGIN",
                                         "accuracy gate: the new answers lose no more, in the metric's unit"};
inline constexpr OptionSpec kEvalGateAnswers = {
    "--eval-answers", "BASE,NEW", "accuracy gate: answers of `eval run`, or any with --eval-ref", false, "<files>"};
inline constexpr OptionSpec kEvalGateReference = {"--eval-ref", "FILE", "accuracy gate: the references", false,
                                                  "<files>"};

/// The exit code together with the gate's, which is told on `context.err`: 4 where the new answers are worse, 3 where
/// the margin cannot be ruled out and nothing else failed. `code` itself without the options.
[[nodiscard]] Result<int> with_eval_gate(Context& context, const ParsedOptions& options, int code);

/// Usage and data errors of the gate, before anything is measured.
[[nodiscard]] Status check_eval_gate(Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
