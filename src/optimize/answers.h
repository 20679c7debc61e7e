// Does a program under a knob still answer the same? The losses of a run with the same seed are compared with those of
// repeated runs of the baseline, step by step at the beginning and by their mean over the last third; outputs of a
// program that only infers are compared value by value. What repeated baselines differ by is allowed, and a margin that
// the kind of the knob decides. Pure.
//
// Limits: 1e-3 for another order of additions and 2e-2 for fewer bits are what PyTorch's own benchmarks allow of
// training (torch/_dynamo/utils.py, torchbenchmark), and 1e-2 of outputs of 16 bits. A rounding error grows with the
// steps; so only the first are judged one by one, and the trend by its mean.
#pragma once

#include <span>
#include <string>

#include "model/journey.h"
#include "optimize/knob.h"
#include "workers/program_report.h"

namespace warpmark::optimize {

struct AnswerOptions {
  double margin = 0.02;  ///< by which the mean of the last third may differ, as a ratio
};

struct AnswerVerdict {
  bool same = true;
  AnswerCheck check;
};

/// `baselines` are at least one run without the knob and of as many steps.
[[nodiscard]] AnswerVerdict judge_answers(std::span<const workers::ProgramReport> baselines,
                                          const workers::ProgramReport& candidate, NumericsSet numerics,
                                          const AnswerOptions& options);

}  // namespace warpmark::optimize
