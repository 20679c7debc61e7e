#include "analyze/evidence/what_ifs.h"

#include "analyze/evidence/updates.h"

namespace warpmark::analyze {

double speedup_of(const Facts& facts, const Change& change) {
  const double after = facts.step_ns(change.ranks);
  return facts.base_step_ns > 0 && after > 0 ? facts.base_step_ns / after : 1.0;
}

void drop_waits(const Facts& facts, double success, Change& change) {
  for (std::size_t r = 0; r < facts.ranks.size(); ++r) {
    WhatIf& one = change.ranks[r];
    for (const HostCause cause : {HostCause::sync, HostCause::reading}) {
      one.host_scale[static_cast<std::size_t>(cause)] *= 1 - success;
    }
    if (success >= 0.5) {
      for (const HostCause cause : {HostCause::sync, HostCause::dispatch}) {
        one.drop_wait[static_cast<std::size_t>(cause)] = true;
      }
    }
  }
}

void drop_allocations(const Facts&, double success, Change& change) {
  constexpr auto kAllocation = static_cast<std::size_t>(HostCause::allocation);
  for (WhatIf& one : change.ranks) {
    one.host_scale[kAllocation] *= 1 - success;
    one.drop_wait[kAllocation] = true;
  }
}

void update_together(const Facts& facts, double success, Change& change) {
  shrink_owned(facts, Owner::optimizer, success, change);
  for (std::size_t r = 0; r < facts.ranks.size(); ++r) {
    const RankEvidence& rank = facts.ranks[r];
    change.ranks[r].host_scale[static_cast<std::size_t>(HostCause::optimizer)] *=
        scaled(host_left_of_updates(updates_in_steps(rank), rank.step_count()), success);
  }
}

void drop_dispatch(double share, Change& change) {
  for (WhatIf& one : change.ranks) {
    for (const HostCause cause : {HostCause::dispatch, HostCause::other, HostCause::none}) {
      one.host_scale[static_cast<std::size_t>(cause)] *= 1 - share;
    }
    if (share >= 1) one.drop_wait[static_cast<std::size_t>(HostCause::dispatch)] = true;  // one launch, one wait
  }
}

double without_dispatch(const Facts& facts) {
  Change change(facts);
  drop_dispatch(1.0, change);
  return speedup_of(facts, change);
}

void open_columns(const RankEvidence& rank, WhatIf& change) {
  if (change.duration_scale.empty()) change.duration_scale.assign(rank.list.works.size(), 1.0F);
  if (change.dispatch_scale.empty()) change.dispatch_scale.assign(rank.list.works.size(), 1.0F);
}

void shrink_owned(const Facts& facts, Owner owner, double success, Change& change) {
  for (std::size_t r = 0; r < facts.ranks.size(); ++r) {
    const RankEvidence& rank = facts.ranks[r];
    open_columns(rank, change.ranks[r]);
    std::vector<float>& scale = change.ranks[r].duration_scale;
    std::vector<float>& dispatch = change.ranks[r].dispatch_scale;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      if (rank.attribution.owner[i] != owner) continue;
      dispatch[i] *= static_cast<float>(scaled(static_cast<double>(rank.attribution.dispatch_left[i]), success));
      scale[i] *= static_cast<float>(scaled(static_cast<double>(rank.attribution.share_left[i]), success));
    }
  }
}

}  // namespace warpmark::analyze
