// Whether the GPU worked for somebody else while the recorded program left it idle.
#pragma once

#include <optional>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// Programs that were alone on an H100 agreed with NVML's utilization within half of that.
inline constexpr double kUtilizationDisagrees = 0.25;

/// Mean of the samples of NVML's utilization whose period lies within the rank's steps; absent if these are fewer than
/// three. `origin_ns` of the series' times.
[[nodiscard]] std::optional<double> mean_in_steps(const CounterSeries& series, std::int64_t origin_ns,
                                                  const RankEvidence& rank);

/// Share of the analyzed steps, 0..1, in which the GPU worked, but not for this rank: its own counter of busy time less
/// the recorded work. Nothing where it was not sampled within the steps, or both agree as well as they do when a
/// program is alone.
[[nodiscard]] std::optional<double> used_by_others(const ProfileSession& session, const RankEvidence& rank);

}  // namespace warpmark::analyze
