// Files into which a tool joined the traces of several ranks (TraceLens): every event says its rank in "args".
#pragma once

#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::profile {

inline constexpr int kNoRank = -1;
inline constexpr int kSeveralRanks = -2;

/// One timeline for each rank, if at least two ranks used GPUs and the rank of each stream is known; else the whole.
/// `ranks` are those of the tracks; events of tracks without one go to the first rank.
[[nodiscard]] std::vector<Timeline> split_by_rank(Timeline whole, const std::vector<int>& ranks);

}  // namespace warpmark::profile
