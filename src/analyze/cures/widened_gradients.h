// Gradients, or partial sums, of 16 bits that are sent in 32: cast before the collective and cast back after it.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/cures/rule.h"

namespace warpmark::analyze {

/// Indices into WorkList::works; empty where there are none, or the sizes of what is cast were not recorded.
struct WidenedGradients {
  std::vector<std::size_t> collectives;
  std::vector<std::size_t> casts;  ///< into and out of what is sent
};
[[nodiscard]] WidenedGradients find_widened_gradients(const RankEvidence& rank);

/// PyTorch's DistributedDataParallel sends them.
[[nodiscard]] bool sends_buckets(const RankEvidence& rank);

/// Half as much is sent on every rank, and nothing is cast.
[[nodiscard]] Change reduced_as_they_are(const Evidence& evidence);

}  // namespace warpmark::analyze
