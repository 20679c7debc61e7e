// What is known of a session from what was recorded: every rank's work, steps, host activity, breakdown and replay,
// computed once, and nothing of it a judgement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyze/host/loading.h"
#include "analyze/host/over_host.h"
#include "analyze/names/framework.h"
#include "analyze/recorded/missing_work.h"
#include "analyze/recorded/ranks.h"
#include "analyze/redundant/kernel_attribution.h"
#include "analyze/replay/breakdown.h"
#include "analyze/replay/replay.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Of what a rank spends its time on, what is there for itself: see own_work_ns().
[[nodiscard]] bool is_own_work(Part part);

struct RankEvidence {
  const Timeline* timeline = nullptr;
  std::size_t index = 0;  ///< into ProfileSession::ranks
  std::size_t place = 0;  ///< among the lists of works of all ranks and their GPUs: RankAlignment::late_rank
  WorkList list;
  Steps steps;
  Loading loading;
  Coverage computing;  ///< compute and communication
  Coverage compute;    ///< compute alone
  Coverage busy;       ///< everything on the GPU
  std::unique_ptr<HostActivity> host;
  RankAlignment alignment;
  Breakdown breakdown;
  KernelAttribution attribution;
  Replay replay;
  OverHost over_host = OverHost::nothing;

  /// As the recording says, else its place.
  [[nodiscard]] int number() const {
    if (list.number >= 0) return list.number;  // of a file that holds several
    return timeline->rank >= 0 ? timeline->rank : static_cast<int>(index);
  }
  [[nodiscard]] double step_count() const { return steps.count(); }
  [[nodiscard]] double step_ns() const;              ///< mean over the analyzed steps
  [[nodiscard]] double part_ns(Part part) const;     ///< mean a step
  [[nodiscard]] double undisturbed_step_ns() const;  ///< step without the estimated cost of recording
  [[nodiscard]] double group_ns(const char* group) const;
  /// Time a step that the rank spends on its own: all but communication, waiting for ranks, loading, dispatch and
  /// recording costs; of a rank that meets others by messages the GPU's work alone, as its host waits with it. What of
  /// loading and dispatch only this rank has: Imbalance::own_ns (imbalance.h).
  [[nodiscard]] double own_work_ns() const;
  /// Host time a step to dispatch, recording costs taken off; 0 where the host was not recorded.
  [[nodiscard]] double dispatch_ns() const;
  /// Idle while the host dispatches one collective after another: multi_gpu_comm's, not launch_overhead's. A step
  [[nodiscard]] double between_collectives_ns() const;
  [[nodiscard]] bool in_steps(const GpuWork& work) const { return steps.hold(work); }
  /// Of the works of one owner: their time a step, and what of it would go, ns.
  [[nodiscard]] double owned_ns(Owner owner) const;
  [[nodiscard]] double avoidable_ns(Owner owner) const;
  /// It has a loss and an optimizer: by ranges, names, or kernels that update parameters.
  [[nodiscard]] bool trains() const;
};

struct Facts {
  const ProfileSession* session = nullptr;
  std::vector<RankEvidence> ranks;         ///< those with GPU work in their steps
  std::vector<std::size_t> programs;       ///< of each rank of the session: see programs.h
  std::size_t critical = 0;                ///< the rank that the others wait for (index into ranks)
  bool compiled = false;                   ///< by torch.compile
  Framework framework = Framework::other;  ///< what the program is written with
  double base_step_ns = 0;                 ///< replayed step, nothing changed
  MissingWork missing;                     ///< sums over the ranks of the session

  /// Else the ranks are not set against one another.
  [[nodiscard]] bool of_one_program() const { return programs_with_steps().size() < 2; }
  /// Those of `ranks`, ascending.
  [[nodiscard]] std::set<std::size_t> programs_with_steps() const;
  /// The ranks are GPUs of one recording.
  [[nodiscard]] bool of_gpus() const;
  [[nodiscard]] bool has_timeline() const { return !ranks.empty(); }
  [[nodiscard]] const RankEvidence& rank() const { return ranks[critical]; }
  /// Replayed step of all ranks together, each changed by its own element, ns.
  [[nodiscard]] double step_ns(std::span<const WhatIf> changes) const;
};

[[nodiscard]] Facts gather_facts(const ProfileSession& session);

}  // namespace warpmark::analyze
