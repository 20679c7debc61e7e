// Rows of a table in host memory that the host gathers and then copies to the GPU.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

struct HostGathers {
  double count = 0;
  double ns = 0;
};

/// Operators of the host, a step, that pick rows by index for longer than 300 us, right before an upload.
[[nodiscard]] HostGathers host_gathers(const RankEvidence& rank);
/// Of the host time that the replay knows as data loading, what these gathers take, 0..1.
[[nodiscard]] double gathered_share(const RankEvidence& rank);

}  // namespace warpmark::analyze
