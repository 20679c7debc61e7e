// Work of the GPU that the recording lost: launches of kernels or of whole CUDA graphs that left nothing on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/recorded/intervals.h"
#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct MissingWork {
  std::int64_t launches = 0;               ///< of kernels, one by one
  std::int64_t launches_without_work = 0;  ///< as many as there are fewer kernels
  std::int64_t graph_launches = 0;
  std::int64_t graphs_without_work = 0;
  bool captures = false;  ///< launches were captured into a CUDA graph, which runs none of them
  /// From the launch of each such graph, and of each kernel if all left nothing, until the host has waited for it or
  /// other work begins: the GPU may have been busy.
  std::vector<Interval> unknown;

  /// All but the times, which are of one timeline.
  void add(const MissingWork& other) {
    launches += other.launches;
    launches_without_work += other.launches_without_work;
    graph_launches += other.graph_launches;
    graphs_without_work += other.graphs_without_work;
    captures = captures || other.captures;
  }
};

[[nodiscard]] MissingWork find_missing_work(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
