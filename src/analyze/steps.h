// The iterations of a program, found without asking: profiler or user annotations that repeat, else the repeating
// sequence of kernels, else the whole recording is one step. What a step's time is: docs/metrics.md, section
// "Profiles".
#pragma once

#include <string>
#include <vector>

#include "analyze/work_list.h"
#include "model/analysis.h"
#include "model/timeline.h"

namespace warpmark::analyze {

struct Steps {
  std::string found_by;  ///< as Analysis::steps_found_by
  std::vector<StepSpan>
      analyzed;            ///< contiguous and ascending: each ends where the next begins; empty without GPU work
  int found = 0;           ///< before leaving out start-up and the cut end
  bool repeating = false;  ///< false: the whole recording is taken as one step
  std::int64_t start() const { return analyzed.empty() ? 0 : analyzed.front().start_ns; }
  std::int64_t end() const { return analyzed.empty() ? 0 : analyzed.back().end_ns; }
  std::int64_t length() const { return end() - start(); }
};

[[nodiscard]] Steps find_steps(const Timeline& timeline, const WorkList& list);

/// Boundaries of the repeating kernel sequence as indices into `names` (launch order): the positions of one kernel that
/// occurs once a period. Empty if nothing repeats at least three times. Exposed for the tests.
[[nodiscard]] std::vector<std::size_t> repeating_sequence(const std::vector<NameId>& names);

}  // namespace warpmark::analyze
