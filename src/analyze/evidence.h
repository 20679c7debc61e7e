// What the rules look at: every rank's work, steps, host activity, breakdown and replay, computed once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
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

/// What of the communication goes over the host: see over_host.h.
enum class OverHost {
  nothing,
  values,     ///< a few sums, which take long
  gradients,  ///< collectives of a host library, and hardly any of the GPUs'
  objects,    ///< most of what the steps copy between host and GPU are objects that ranks send one another
};

struct RankEvidence {
  const Timeline* timeline = nullptr;
  std::size_t index = 0;  ///< into ProfileSession::ranks
  WorkList list;
  Steps steps;
  Loading loading;
  Coverage computing;  ///< compute and communication
  Coverage compute;    ///< compute alone
  Coverage busy;       ///< everything on the GPU
  std::unique_ptr<HostActivity> host;
  RankAlignment alignment;
  Breakdown breakdown;
  KernelBlame blame;
  HostGathers gathers;
  ValueReads value_reads;
  Replay replay;
  OverHost over_host = OverHost::nothing;

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

/// Times a step. Own work of the rank that the others wait for is also what keeps its GPU idle and the others' hosts do
/// clearly less of: it loads longer, dispatches longer (as it launches more, or is slower), or waits for the GPU more
/// often. How long all hosts take is data_loading, launch_overhead and cpu_gpu_sync.
struct Imbalance {
  std::vector<double> own_ns;  ///< own work of each rank
  double late_ns = 0;       ///< that of the slowest rank beyond the median of the others, or the mean if that is more
  double mean_late_ns = 0;  ///< beyond the mean of all
  double waiting_ns = 0;    ///< longest waiting of another rank
  std::size_t latest = 0;   ///< index into Evidence::ranks
  double loading_ns = 0;    ///< of the own work of the critical rank: for loading ...
  double dispatch_ns = 0;   ///< ... for dispatching ...
  double lead_ns = 0;       ///< ... and what waits took of its host's lead
  double blamed_share = 0;  ///< of the critical rank's excess; 0 if no rank waits for it
  /// Waiting of each rank for computing of which now one rank has more, now another; empty if it is always the same.
  std::vector<double> in_turns_ns;
  /// Median own work of the others, or the mean of all.
  [[nodiscard]] double others_ns() const { return own_ns.empty() ? 0 : own_ns[latest] - late_ns; }
  /// Waiting that the late rank's own work explains.
  [[nodiscard]] double explained_ns() const { return std::min(late_ns, waiting_ns); }
  /// What of a rank's waiting is imbalance.
  [[nodiscard]] double explained_ns(std::size_t rank) const {
    if (own_ns.empty()) return 0;
    const double own = std::max(explained_ns(), std::min(own_ns[latest] - own_ns[rank], waiting_ns));
    return in_turns_ns.empty() ? own : std::max(own, in_turns_ns[rank]);
  }
  /// Of the blamed excess what kept the critical rank's host, in whatever the others wait for.
  [[nodiscard]] double blamed_host_ns() const { return (loading_ns + dispatch_ns + lead_ns) * blamed_share; }
};

struct Evidence {
  const ProfileSession* session = nullptr;
  std::vector<RankEvidence> ranks;         ///< those with GPU work in their steps
  std::vector<std::size_t> programs;       ///< of each rank of the session: see programs.h
  std::size_t critical = 0;                ///< the rank that the others wait for (index into ranks)
  bool compiled = false;                   ///< by torch.compile
  Framework framework = Framework::other;  ///< what the program is written with
  double base_step_ns = 0;                 ///< replayed step, nothing changed
  double lost_lead_ns = 0;                 ///< what waits cost the critical rank beside themselves: see lead.h
  Imbalance imbalance;

  /// Else the ranks are not set against one another.
  [[nodiscard]] bool of_one_program() const { return programs_with_steps().size() < 2; }
  /// Those of `ranks`, ascending.
  [[nodiscard]] std::set<std::size_t> programs_with_steps() const;
  [[nodiscard]] bool has_timeline() const { return !ranks.empty(); }
  [[nodiscard]] const RankEvidence& rank() const { return ranks[critical]; }
  /// Replayed step of all ranks together, each changed by its own element, ns.
  [[nodiscard]] double step_ns(std::span<const WhatIf> changes) const;
};

[[nodiscard]] Evidence gather_evidence(const ProfileSession& session);

}  // namespace warpmark::analyze
