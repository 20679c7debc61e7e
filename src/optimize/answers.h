// Does a program under settings still give the same answers? Two checks. Pure.
//
// At the same state: in one process, with the same weights, batch and random numbers, outputs and gradients with and
// without the settings. Nothing diverges, so limits are those of one step.
// Along the training: losses of fresh runs with the same seed. The first loss comes before any update and is compared
// by itself; later ones diverge chaotically, so their mean over the last third is compared, within a margin and what
// steps differ by. Outputs of a program that only infers are compared value by value.
//
// Limits: 1e-3 for another order of additions and 2e-2 for fewer bits are what PyTorch's own benchmarks allow of
// training, and a cosine of gradients is their fallback (torch/_dynamo/utils.py `same`, torchbenchmark).
#pragma once

#include <span>
#include <string>

#include "model/optimization.h"
#include "optimize/knob.h"
#include "workers/program_report.h"

namespace warpmark::optimize {

/// AnswerCheck::kind of judge_state. Where nothing could be compared it is "none".
inline constexpr const char* kAtSameState = "state";

struct AnswerOptions {
  double margin = 0.02;        ///< by which the mean of the last third may differ, as a ratio
  bool state_checked = false;  ///< the answers passed at the same state: what steps differ by is then no suspicion
};

struct AnswerVerdict {
  bool same = true;
  AnswerCheck check;
};

struct Difference {
  double outputs = 0;    ///< relative error of all values together (L2)
  double gradients = 0;  ///< the same of all gradients
};

/// One forward and backward pass with and without settings, at the same state.
struct StateCheck {
  bool trains = false;
  bool finite_before = true;  ///< all values of the original are numbers
  bool finite = true;         ///< all values with the settings
  Difference difference;
  double cosine = 1;    ///< of the gradients
  Difference noise;     ///< of the original, repeated
  Difference rounding;  ///< of the original, with what its innermost modules return off by a unit of the last place
  Difference spread;    ///< of the original, with other random numbers; 0 where it draws none
};
[[nodiscard]] AnswerVerdict judge_state(const StateCheck& check, const NumericsSet& numerics);

/// `baselines` are at least one run without the settings.
[[nodiscard]] AnswerVerdict judge_answers(std::span<const workers::ProgramReport> baselines,
                                          const workers::ProgramReport& candidate, NumericsSet numerics,
                                          const AnswerOptions& options);

}  // namespace warpmark::optimize
