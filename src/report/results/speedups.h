// Which results of a session are another way of doing what a baseline does, and what they gain.
#pragma once

#include <vector>

#include "model/run.h"
#include "model/speedup.h"

namespace warpmark::report {

/// Pairs of one workload, device and mode whose parameters differ in the implementation or the data type alone, where
/// one of the two is what others are measured against: impl=standard or unfused, dtype=f32. In the order of the runs.
///
/// The ratio is of the medians. Its interval is Welch's on the rounds' medians (stats/tests/compare.h) where both have
/// three rounds or more; else the ratios that the medians' own intervals leave open, which are wider than their
/// confidence says. Pure.
[[nodiscard]] std::vector<RunSpeedUp> speedups_of(const Session& session);

}  // namespace warpmark::report
