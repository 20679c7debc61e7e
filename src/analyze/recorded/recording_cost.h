// What recording a profile cost the program that was recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/recorded/intervals.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// What recording one host event cost, ns, and the most of a stretch of host time that recording its events can take:
/// what a profile's own inflation is corrected with. The share is the steadier figure: a faster processor both
/// dispatches and records faster.
struct RecordingCost {
  std::int64_t op_ns = 0;
  std::int64_t api_ns = 0;
  double most_share = 0;
};
/// By what the recorder measured of itself, else by format; the figures and how they were measured:
/// docs/metrics/analyze.md, section "Breakdown".
[[nodiscard]] RecordingCost recording_cost(const Timeline& timeline);
/// How much slower the program ran while it was recorded, as the recorder measured it: 0.1 is 10 %. Nothing if it did
/// not, or if the profile was corrected for it already.
[[nodiscard]] std::optional<double> measured_inflation(const Timeline& timeline);

/// When a launch call waited for a place in the queue: see tells_full_queue().
[[nodiscard]] std::vector<Interval> intervals_with_full_queue(const Timeline& timeline);

}  // namespace warpmark::analyze
