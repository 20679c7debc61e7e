// What needs a memory between two looks at a GPU: its XID errors, and the activity of its units (GPM, GPU performance
// monitoring, Hopper and newer).
#pragma once

#include "device/nvml/api.h"
#include "device/nvml/nvml.h"

namespace warpmark::device::nvml {

/// Of one GPU. Not thread safe.
class GpuCounters {
 public:
  /// Fills in xid_errors and unit_activity.
  void read(const Api& api, Handle gpu, GpuActivity& activity);
  /// Of a GPU that does not answer: its XID errors, which tell why, from the events asked for before.
  void read_lost(const Api& api, GpuActivity& activity);
  /// NVML was ended: its objects are gone, and what was counted is not.
  void forget_objects();

 private:
  void read_events(const Api& api, Handle gpu, GpuActivity& activity);
  void count_events(const Api& api);
  void read_units(const Api& api, Handle gpu, GpuActivity& activity);

  EventSet events_ = nullptr;
  bool refused_events_ = false;
  XidErrors xids_;
  GpmSample before_ = nullptr, now_ = nullptr;
  std::int64_t before_ns_ = 0;  ///< 0: there is no sample before
  std::map<GpuUnit, double> units_;
};

}  // namespace warpmark::device::nvml
