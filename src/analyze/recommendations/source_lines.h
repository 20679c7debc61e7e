// Where in the program's own code a finding loses its time: the waits, launches and stretches of idleness that it is
// attributed for, joined by thread and time with the Python stacks that were recorded (sampled by `warpmark profile`,
// or as PyTorch's profiler has them with_stack=True).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "model/analysis.h"

namespace warpmark::analyze {

/// The text of a line of a source file; empty if it is not known.
using SourceText = std::function<std::string(std::string_view file, std::int64_t line)>;

struct LineShare {
  std::string file;
  std::int64_t line = 0;  ///< of a trace of PyTorch's profiler that on which the function begins
  std::string function;
  std::string call;  ///< the built-in function called there, where the format tells
  double share = 0;  ///< of the finding's lost time that could be placed
};

/// "save_checkpoint (train.py:77)": the line that most of this rule's idle time is spent in. Empty where no stacks were
/// recorded, or no line has half of it.
[[nodiscard]] std::string main_line(const RankEvidence& rank, const char* rule);

/// Puts the lines as first evidence into the findings ("source_line"), and all of them into a table. Without stacks
/// nothing changes, and the table has no rows.
[[nodiscard]] AnalysisTable place_in_source(const Evidence& evidence, const SourceText& source,
                                            std::vector<Finding>& findings);

}  // namespace warpmark::analyze
