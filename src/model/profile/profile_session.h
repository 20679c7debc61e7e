// Everything that was read for one analysis: one Timeline a rank, and what other tools say about the same program.
#pragma once

#include <vector>

#include "model/profile/kernel_profile.h"
#include "model/profile/timeline.h"

namespace warpmark {

struct ProfileSession {
  std::vector<Timeline> ranks;  ///< ascending by rank where ranks are known; a file of counters alone has none
  /// Of files without events; times are ns since the Unix epoch, or since their start.
  std::vector<CounterSeries> counters;
  std::vector<KernelProfile> kernels;
  std::vector<CollectiveResult> collectives;
  std::vector<DataQualityIssue> quality;  ///< of files that hold no timeline
};

}  // namespace warpmark
