// How the host waited for its batches.
#pragma once

#include <vector>

#include "analyze/recorded/work_list.h"

namespace warpmark::analyze {

/// Outermost ranges of data loading in the whole recording, also outside of the analyzed steps.
struct Loading {
  std::vector<double> waits_ns;
  bool in_process = false;    ///< operators run inside them, or PyTorch says so: there are no workers
  bool multiprocess = false;  ///< PyTorch says that there are
  /// Worker processes load, ahead and in bursts.
  [[nodiscard]] bool by_workers() const { return !in_process && waits_ns.size() >= 2; }
  /// The same where it is not only guessed.
  [[nodiscard]] bool brought_by_workers() const { return multiprocess && by_workers(); }
  [[nodiscard]] double mean_ns() const;
  [[nodiscard]] double median_ns() const;
};

/// Whether a stack shows a loader whose batches worker processes make.
[[nodiscard]] bool shows_workers(const Timeline& timeline);
/// How long PyTorch's DataLoader starts worker processes and ends them between the two times, as stacks show, ns; 0 if
/// it does so once at most. Without persistent_workers it does for every epoch.
[[nodiscard]] double restarts_of_workers_ns(const Timeline& timeline, std::int64_t from, std::int64_t to);

[[nodiscard]] Loading find_loading(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
