// The iterations of a program, found without asking: what the profiler or the program marks as a step, else ranges that
// it marks, else launches that repeat, else none: the whole recording is then taken as one. What a step's time is:
// docs/metrics/analyze.md, section "Steps".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/analysis.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct Steps {
  std::string found_by;  ///< as Analysis::steps_found_by
  std::vector<StepSpan>
      analyzed;                   ///< contiguous and ascending: each ends where the next begins; empty without GPU work
  std::vector<StepPause> pauses;  ///< steps far longer than the others: not analyzed
  int found = 0;                  ///< before leaving out start-up, pauses and the cut end
  bool marked = false;            ///< by the program or its profiler
  bool repeating = false;         ///< false: there are no steps, and the whole recording is taken as one
  std::int64_t start() const { return analyzed.empty() ? 0 : analyzed.front().start_ns; }
  std::int64_t end() const { return analyzed.empty() ? 0 : analyzed.back().end_ns; }
  std::int64_t length() const { return end() - start(); }
  double count() const { return static_cast<double>(analyzed.size()); }
  /// The work begins in one of them.
  [[nodiscard]] bool hold(const GpuWork& work) const { return work.start >= start() && work.start < end(); }
};

[[nodiscard]] Steps find_steps(const Timeline& timeline, const WorkList& list);

/// Starts of all steps and the end of the last, ascending.
[[nodiscard]] inline std::vector<std::int64_t> borders_of(std::span<const StepSpan> steps) {
  std::vector<std::int64_t> borders;
  for (const StepSpan& step : steps) borders.push_back(step.start_ns);
  if (!steps.empty()) borders.push_back(steps.back().end_ns);
  return borders;
}

}  // namespace warpmark::analyze
