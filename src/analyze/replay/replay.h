// What if? The recorded steps are played again on a model of host and GPU: one host that dispatches in the recorded
// order, streams that work first in first out, waits of the host for the GPU, waits of streams for one another, and a
// launch queue of limited depth. Changing host times or work durations then gives the step time of the changed program,
// with the floors (GPU busy time, host time) that naive subtraction misses. After Zhu et al., "Daydream: Accurately
// Estimating the Efficacy of Optimizations for DNN Training", USENIX ATC 2020, on the far simpler graph that a profile
// supports.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/host/host_activity.h"
#include "analyze/recorded/ranks.h"
#include "analyze/recorded/work_list.h"
#include "analyze/steps/steps.h"

namespace warpmark::analyze {

/// One recorded piece of work and the host's way to the next launch.
struct ReplayWork {
  std::size_t work = 0;      ///< index into WorkList::works
  std::uint32_t stream = 0;  ///< dense
  std::int64_t duration_ns = 0;
  std::int32_t waits_for = -1;                      ///< earlier element on another stream, or -1
  std::int32_t rendezvous = -1;                     ///< RankAlignment::rendezvous
  std::array<std::int32_t, kHostCauses> host_ns{};  ///< until the next launch, without waits and recording costs
  std::int32_t host_before_wait_ns = 0;
  /// Why the host then waits for all work launched so far; none: it does not; dispatch: the launch call itself waits
  /// for what it launched (DebugModes).
  HostCause wait = HostCause::none;
};

/// A change of the program. Empty columns and 1 change nothing.
struct WhatIf {
  std::array<double, kHostCauses> host_scale = filled(1.0);
  std::array<bool, kHostCauses> drop_wait{};
  std::vector<float> duration_scale;  ///< per work (index into WorkList::works); 0 removes it. Empty: all 1
  std::vector<float> dispatch_scale;  ///< further factor on dispatching after a work. Empty: all 1

  bool as_graph = false;          ///< what is launched is launched as one: kernels follow one another at once
  bool keeps_rendezvous = false;  ///< ranks wait for one another in collectives that are removed, too

  static constexpr std::array<double, kHostCauses> filled(double value) {
    std::array<double, kHostCauses> all{};
    all.fill(value);
    return all;
  }
};

class Replay {
 public:
  Replay() = default;
  /// Waiting for other ranks is left out of durations.
  Replay(const Timeline& timeline, const WorkList& list, const Steps& steps, const HostActivity& host,
         const Coverage& gpu_busy, const RankAlignment& alignment);

  /// Steady time of one step of this rank as if it never waited for another, ns; 0 if nothing could be replayed.
  /// O(works). Ranks that wait for one another: replay_together.h.
  [[nodiscard]] double step_ns(const WhatIf& change = {}) const;
  /// Host time of a step by cause, without waits and recording costs, ns.
  [[nodiscard]] double host_ns(HostCause cause) const;
  [[nodiscard]] bool knows_host() const { return knows_host_; }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] std::uint32_t streams() const { return streams_; }
  [[nodiscard]] const std::vector<ReplayWork>& works() const { return works_; }

 private:
  void find_dependencies(const WorkList& list);

  std::vector<ReplayWork> works_;  // in launch order
  int steps_ = 0;
  std::uint32_t streams_ = 0;
  bool knows_host_ = false;
};

}  // namespace warpmark::analyze
