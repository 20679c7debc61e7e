// Uploads that a thread of a runtime stages: it copies what the program gave into pinned memory, then to the GPU.
#pragma once

#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct StagedUpload {
  std::int64_t start = 0;  ///< of copying in the host's memory
  std::int64_t end = 0;    ///< the call that copies to the GPU
  EventIndex copy = kNoEvent;
  std::uint32_t track = 0;
};

/// By threads that launch no kernels, on the processor between a wait and the upload from pinned memory; no longer than
/// copying so many bytes takes one thread, as it may have made them, too. Ascending by end.
[[nodiscard]] std::vector<StagedUpload> find_staged_uploads(const Timeline& timeline, const WorkList& list);

}  // namespace warpmark::analyze
