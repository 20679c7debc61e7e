// The host waits for the GPU within the step (.item(), .cpu(), nonzero, explicit synchronization). The wait costs
// nothing by itself while the GPU works; lost is the GPU's idle time afterwards, until the host has its lead again:
// next to the waits as recorded, further away as replayed without them.
#include <algorithm>
#include <map>

#include "analyze/rules/lead.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr auto kSync = static_cast<std::size_t>(HostCause::sync);

std::string op_around(const RankEvidence& rank, EventIndex call) {
  for (EventIndex at = rank.list.parent[call]; at != kNoEvent; at = rank.list.parent[at]) {
    if (rank.timeline->events.kind[at] == EventKind::op) return std::string(rank.timeline->name_of(at));
  }
  return std::string(rank.timeline->name_of(call));
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  double count = 0;
  double waited = 0;
  std::map<std::string, int> from;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.cause != HostCause::sync || call.end < rank.steps.start() || call.start >= rank.steps.end()) continue;
    if (!is_sync_call(rank.timeline->name_of(call.event)) && call.waited_ns == 0) continue;
    count += 1;
    waited += static_cast<double>(call.waited_ns);
    ++from[op_around(rank, call.event)];
  }
  if (count == 0) return {};
  const double step = rank.undisturbed_step_ns();
  const double idle = rank.part_ns(Part::idle_sync);
  const double lost = idle + lost_lead_ns(evidence);
  if (lost <= 0) return {};
  const double per_step = count / rank.step_count();
  Finding finding = make_finding(kCpuGpuSyncRule, lost, step,
                                 "Waits of the host for the GPU leave the GPU idle for " + ms_text(lost) + " a step (" +
                                     percent_text(lost / step) + ")");
  const auto most =
      std::max_element(from.begin(), from.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  finding.evidence = {
      time_fact("sync_idle_per_step", "GPU idle because the host had waited, per step", idle),
      time_fact("lost_lead_per_step", "Further idle time that the host's lead would have hidden, per step",
                lost - idle),
      count_fact("syncs_per_step", "Waits of the host per step", per_step),
      time_fact("sync_wait_per_step", "Host time in them while the GPU worked, per step", waited / rank.step_count()),
      {"Most often from: " + most->first, "sync_origin", std::nullopt, ""},
  };
  finding.recommendations = {
      {AdviceKind::code,
       "Keep values on the GPU and read them rarely: .item(), .cpu(), print(loss), nonzero() and boolean "
       "indexing wait.",
       "running_loss += loss.detach()  # read with .item() every 100 steps"},
      {AdviceKind::code, "Find every place that waits.", "torch.cuda.set_sync_debug_mode('warn')"},
  };
  show_idle(rank, {Part::idle_sync}, finding);
  return {finding};
}

void change(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) {
    one.host_scale[kSync] *= 1 - success;
    if (success >= 0.5) one.drop_wait[kSync] = true;
  }
}

}  // namespace

constinit const Rule kCpuGpuSyncRule = {
    "cpu_gpu_sync", "cpu_gpu_sync", "Does the host wait for the GPU within the step?", Need::gpu_work, apply,
    change,         {1.0, 0.02}};

}  // namespace warpmark::analyze
