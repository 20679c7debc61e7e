// Copies between host and GPU that nothing overlaps: pageable memory (the call stages it and blocks), large inputs,
// results copied back within the step. Values read back one by one are cpu_gpu_sync.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rules/host_reduction.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr std::int64_t kValueBytes = 64 << 10;

struct Copies {
  double count = 0;
  double bytes = 0;
  double pageable = 0;
  double time_ns = 0;
};

bool moves_data(const RankEvidence& rank, const GpuWork& work) {
  if (work.category == Category::copy_to_device) return true;
  return work.category == Category::copy_to_host && rank.timeline->events.value[work.event] > kValueBytes;
}

Copies copies_in_steps(const RankEvidence& rank) {
  Copies sum;
  const EventColumns& events = rank.timeline->events;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work) || !moves_data(rank, work)) continue;
    sum.count += 1;
    sum.bytes += static_cast<double>(events.value[work.event]);
    sum.time_ns += static_cast<double>(work.end - work.start);
    if (host_memory(events.detail[work.event]) == HostMemory::pageable)
      sum.pageable += static_cast<double>(events.value[work.event]);
  }
  return sum;
}

/// Of the host time that the replay knows as data loading, what picking rows takes, 0..1.
double gathered_share(const RankEvidence& rank) {
  const double loading = rank.replay.host_ns(HostCause::data_loading);
  return loading > 0 ? std::min(1.0, rank.gathers.ns / rank.step_count() / loading) : 0;
}

void drop_copies(const Evidence& evidence, double success, Change& change) {
  constexpr auto kTransfer = static_cast<std::size_t>(HostCause::transfer);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    WhatIf& one = change.ranks[r];
    one.host_scale[kTransfer] *= 1 - success;
    one.drop_wait[kTransfer] = true;
    open_columns(rank, one);
    for (std::size_t i = 0; i < one.duration_scale.size(); ++i) {
      if (!moves_data(rank, rank.list.works[i])) continue;
      one.duration_scale[i] *= static_cast<float>(1 - success);
      one.dispatch_scale[i] *= static_cast<float>(1 - success);  // what stays where it is needs no calls
    }
  }
}

/// Rows that the host picked from a table: with the table on the GPU neither the picking nor the copy is left, where
/// pinned memory and overlap only hide the copy.
void recommend_table(const Evidence& evidence, Finding& finding) {
  const RankEvidence& rank = evidence.rank();
  if (rank.gathers.count == 0) return;
  finding.evidence.push_back(time_fact("host_gather_per_step",
                                       "The host picks the rows before it copies them, per step",
                                       rank.gathers.ns / rank.step_count()));
  Change copies(evidence);
  drop_copies(evidence, 1.0, copies);
  Recommendation& pinned = finding.recommendations.front();
  pinned.id = "pin_memory";
  pinned.gain = gain_around(speedup_of(evidence, copies), kHostTransferRule.calibration,
                            "replay of the recorded steps without the copies, the host picking rows as before");
  finding.recommendations.insert(
      finding.recommendations.begin(),
      {AdviceKind::code,
       "If the table fits into the GPU's memory, keep it there, pick its rows there and send only the indices.",
       "table = table.to('cuda')  # once; then x = table[index.to('cuda')]"});
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  if (reduces_over_host(rank)) return {};  // multi_gpu_comm
  const Copies copies = copies_in_steps(rank);
  const double exposed = rank.part_ns(Part::exposed_copy_to_device) + rank.part_ns(Part::exposed_copy_to_host);
  const double blocked = rank.part_ns(Part::idle_host_transfer);
  const double lost = (copies.count > 0 ? exposed : 0) + blocked;
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding = make_finding(kHostTransferRule, lost, step,
                                 "Copies between host and GPU take " + ms_text(lost) + " a step (" +
                                     percent_text(lost / step) + ") that nothing overlaps");
  finding.evidence = {
      time_fact("exposed_copy_per_step", "Copies with no other GPU work, per step", exposed),
      time_fact("blocked_copy_per_step", "GPU idle while the host is inside a copy call, per step", blocked),
      count_fact("copies_per_step", "Copies per step", copies.count / rank.step_count()),
  };
  if (copies.time_ns > 0) {
    const double rate = copies.bytes / (copies.time_ns * 1e-9);
    finding.evidence.push_back(
        {fmt::format("Moved per step: {:.1f} MB at {:.1f} GB/s", copies.bytes / rank.step_count() * 1e-6, rate * 1e-9),
         "copy_bandwidth", rate, "B/s"});
    finding.evidence.push_back(
        share_fact("pageable_share", "Of it in pageable memory", copies.pageable / std::max(1.0, copies.bytes)));
  }
  finding.recommendations = {
      {AdviceKind::code, "Pin the host memory and copy asynchronously, so that the copy overlaps computation.",
       "DataLoader(..., pin_memory=True); x = x.to('cuda', non_blocking=True)"},
      {AdviceKind::code, "Copy the next batch on a stream of its own while this one computes.",
       "with torch.cuda.stream(copy_stream): next_x = next_x.to('cuda', non_blocking=True)"},
      {AdviceKind::code,
       "Send fewer bytes: integers or half precision, converted on the GPU; keep what does not change there.",
       "x = x_uint8.to('cuda', non_blocking=True).to(torch.bfloat16).div_(255)"},
  };
  recommend_table(evidence, finding);
  show_works(
      rank, [&rank](std::size_t i) { return moves_data(rank, rank.list.works[i]); }, finding);
  return {finding};
}

void change(const Evidence& evidence, double success, Change& change) {
  drop_copies(evidence, success, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    change.ranks[r].host_scale[static_cast<std::size_t>(HostCause::data_loading)] *=
        1 - success * gathered_share(evidence.ranks[r]);
  }
}

}  // namespace

constinit const Rule kHostTransferRule = {
    "host_transfer", "data_loading", "Do copies between host and GPU stop the work?", Need::gpu_work, apply,
    change,          {1.0, 0.05}};

}  // namespace warpmark::analyze
