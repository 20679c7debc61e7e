// What the rules look at: every rank's work, steps, host activity, breakdown and replay, computed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/advice.h"
#include "analyze/breakdown.h"
#include "analyze/host_gather.h"
#include "analyze/kernel_blame.h"
#include "analyze/loading.h"
#include "analyze/ranks.h"
#include "analyze/replay.h"
#include "analyze/value_reads.h"
#include "model/profile_session.h"

namespace warpmark::analyze {

/// Of what a rank spends its time on, what is there for itself: see own_work_ns().
[[nodiscard]] bool is_own_work(Part part);

struct RankEvidence {
  const Timeline* timeline = nullptr;
  std::size_t index = 0;  ///< into ProfileSession::ranks
  WorkList list;
  Steps steps;
  Loading loading;
  Coverage computing;  ///< compute and communication
  Coverage busy;       ///< everything on the GPU
  std::unique_ptr<HostActivity> host;
  RankAlignment alignment;
  Breakdown breakdown;
  KernelBlame blame;
  HostGathers gathers;
  ValueReads value_reads;
  Replay replay;

  /// As the recording says, else its place.
  [[nodiscard]] int number() const { return timeline->rank >= 0 ? timeline->rank : static_cast<int>(index); }
  [[nodiscard]] double step_count() const { return static_cast<double>(steps.analyzed.size()); }
  [[nodiscard]] double step_ns() const;              ///< mean over the analyzed steps
  [[nodiscard]] double part_ns(Part part) const;     ///< mean a step
  [[nodiscard]] double undisturbed_step_ns() const;  ///< step without the estimated cost of recording
  [[nodiscard]] double group_ns(const char* group) const;
  /// Time a step that the rank spends on its own: all but communication, waiting for ranks, loading, dispatch and
  /// recording costs. What of loading and dispatch only this rank has: Imbalance::own_ns.
  [[nodiscard]] double own_work_ns() const;
  /// Host time a step to dispatch, recording costs taken off; 0 where the host was not recorded.
  [[nodiscard]] double dispatch_ns() const;
  /// Idle while the host dispatches one collective after another: multi_gpu_comm's, not launch_overhead's. A step
  [[nodiscard]] double between_collectives_ns() const;
  [[nodiscard]] bool in_steps(const GpuWork& work) const {
    return work.start >= steps.start() && work.start < steps.end();
  }
};

struct Evidence {
  const ProfileSession* session = nullptr;
  std::vector<RankEvidence> ranks;         ///< those with GPU work in their steps
  std::size_t critical = 0;                ///< the rank that the others wait for (index into ranks)
  bool compiled = false;                   ///< by torch.compile
  Framework framework = Framework::other;  ///< what the program is written with

  [[nodiscard]] bool has_timeline() const { return !ranks.empty(); }
  [[nodiscard]] const RankEvidence& rank() const { return ranks[critical]; }
  /// Replayed step of the slowest rank, communication without waiting, ns.
  [[nodiscard]] double base_step_ns() const;
};

[[nodiscard]] Evidence gather_evidence(const ProfileSession& session);

}  // namespace warpmark::analyze
