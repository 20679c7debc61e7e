// The memory of GPUs over time. With PyTorch's profile_memory=True the allocator tells its totals at every allocation:
// allocated is what tensors hold, reserved what it took from the driver, and the rest is cached or too scattered to be
// used ("fragmentation"). CUPTI and Nsight Systems record the driver's allocations alone, without what was held before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct MemoryCurve {
  int device = 0;
  std::int64_t origin = 0;  ///< ns on the timeline's clock: where the recording's GPU work begins
  double capacity = 0;      ///< bytes; 0 if unknown
  std::vector<std::int64_t> times;
  std::vector<double> allocated;
  std::vector<double> reserved;  ///< as long as `allocated`, or empty
};

/// Of each GPU of a rank with work whose memory is known; empty where no allocation was recorded. Readers keep of the
/// totals that an allocator tells those that are news: new peaks, and each change of what is reserved. The rest follows
/// from the allocations, if they are of one GPU; they do not say of which.
[[nodiscard]] std::vector<MemoryCurve> memory_curves_of(const Timeline& timeline, const WorkList& list);
/// The event is an allocation or a release of a GPU's memory.
[[nodiscard]] bool is_gpu_allocation(const Timeline& timeline, EventIndex i);

/// The most that was reserved without being allocated.
[[nodiscard]] std::optional<double> most_unused(const MemoryCurve& curve);

/// Whenever the allocator gave memory back to the driver: because a program emptied its cache, or because an allocation
/// found no room in it.
struct GivenBack {
  std::int64_t times = 0;
  double unused = 0;    ///< the most that was reserved and not allocated just before, bytes ...
  double reserved = 0;  ///< ... of this
};
[[nodiscard]] GivenBack given_back(const MemoryCurve& curve);

}  // namespace warpmark::analyze
