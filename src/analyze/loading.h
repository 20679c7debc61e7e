// How the host waited for its batches.
#pragma once

#include <vector>

#include "analyze/work_list.h"

namespace warpmark::analyze {

/// Outermost ranges of data loading in the whole recording, also outside of the analyzed steps.
struct Loading {
  std::vector<double> waits_ns;
  bool in_process = false;  ///< operators run inside them: the program loads its batches itself, without workers
  /// Worker processes load, ahead and in bursts.
  [[nodiscard]] bool by_workers() const { return !in_process && waits_ns.size() >= 2; }
  bool multiprocess = false;  ///< PyTorch says so
  [[nodiscard]] bool brought_by_workers() const { return multiprocess && by_workers(); }
  [[nodiscard]] double mean_ns() const;
  [[nodiscard]] double median_ns() const;
};

[[nodiscard]] Loading find_loading(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
