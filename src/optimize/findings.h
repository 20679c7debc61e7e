// What the analysis of a recording predicts, in the words of the search; and what a person would write into the
// program: the lines of the kept knobs at the places where the program makes its loader, its optimizer and its model.
// Pure.
#pragma once

#include <string_view>
#include <vector>

#include "model/analysis.h"
#include "model/optimization.h"
#include "optimize/facts.h"
#include "optimize/knob.h"

namespace warpmark::optimize {

/// Each finding, with its first recommendation.
[[nodiscard]] std::vector<OptimizationFinding> findings_of(const std::vector<Finding>& findings);

/// What was predicted, by rule and advice.
[[nodiscard]] std::vector<FoundGain> gains_of(const std::vector<Finding>& findings);

/// The first three, for the log: "data_loading (1.20 to 2.40x without it), ...".
[[nodiscard]] std::string found_text(const std::vector<OptimizationFinding>& findings);

/// What findings advise, but those that a kept knob answers: for a person to do, not proven.
[[nodiscard]] std::vector<OptimizationAdvice> advice_of_findings(const std::vector<OptimizationFinding>& findings,
                                                                 const Settings& kept);

/// The gain that a finding predicts of the knob: of the advice that it is, else of the finding; the largest where it
/// answers several. None where nothing was found that it answers.
[[nodiscard]] std::optional<Prediction> replayed_gain(std::string_view answers, const std::vector<FoundGain>& found);

/// `kept` first, each with what was measured; then what nobody has proven. `facts` are those of the original, `tried`
/// all steps of the search.
[[nodiscard]] std::vector<OptimizationAdvice> advice_for(const ProgramFacts& facts, const Settings& kept,
                                                         std::span<const OptimizationStep> tried = {});

}  // namespace warpmark::optimize
