// Communication between GPUs that no computation overlaps. Waiting for a rank that has more work is load_imbalance;
// waiting that comes from meeting so often (equal work, unequal instants) is communication.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/collective_traffic.h"
#include "analyze/rules/imbalance.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Traffic {
  double collectives = 0;
  double elements = 0;
  double time_ns = 0;
  double overlapped_ns = 0;
};

Traffic traffic_in_steps(const RankEvidence& rank) {
  Traffic sum;
  const Coverage compute(busy_intervals(rank.list, [](const GpuWork& work) { return is_compute(work.category); }));
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    sum.collectives += 1;
    sum.time_ns += static_cast<double>(work.end - work.start);
    sum.overlapped_ns += static_cast<double>(compute.covered(work.start, work.end));
  }
  for (const Collective& one : rank.timeline->collectives) {
    if (one.event == kNoEvent || rank.timeline->events.kind[one.event] != EventKind::kernel) continue;
    const std::int64_t start = rank.timeline->events.start[one.event];
    if (start >= rank.steps.start() && start < rank.steps.end()) sum.elements += static_cast<double>(one.in_elements);
  }
  return sum;
}

/// How fast the largest messages went, and what the links gave to a benchmark of the same size.
void add_bandwidth(const Evidence& evidence, const RankEvidence& rank, Finding& finding) {
  for (const CollectiveTraffic& one : collective_traffic(rank)) {
    if (one.bus_bandwidth <= 0) continue;
    std::string text = fmt::format("Largest {}: {:.1f} MB at {:.1f} GB/s of bus bandwidth", one.collective,
                                   one.bytes * 1e-6, one.bus_bandwidth * 1e-9);
    finding.evidence.push_back({std::move(text), "bus_bandwidth", one.bus_bandwidth, "B/s"});
    const auto known = benchmarked_bandwidth(evidence.session->collectives, one.collective, one.ranks, one.bytes);
    if (known) {
      finding.evidence.push_back({fmt::format("nccl-tests at that size: {:.1f} GB/s", *known * 1e-9),
                                  "benchmark_bus_bandwidth", *known, "B/s"});
    }
    return;
  }
}

std::vector<Finding> apply(const Evidence& evidence) {
  const Imbalance imbalance = imbalance_of(evidence);
  double lost = 0;
  std::size_t worst = 0;
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    const double waiting = std::max(0.0, rank.part_ns(Part::idle_waiting_for_rank) - imbalance.explained_ns());
    const double sum = rank.part_ns(Part::exposed_communication) + waiting;
    if (sum > lost) lost = sum, worst = r;
  }
  if (lost <= 0) return {};
  const RankEvidence& rank = evidence.ranks[worst];
  const double step = rank.undisturbed_step_ns();
  const Traffic traffic = traffic_in_steps(rank);
  Finding finding = make_finding(kMultiGpuCommRule, lost, step,
                                 "Communication takes " + ms_text(lost) + " a step (" + percent_text(lost / step) +
                                     ") that no computation overlaps");
  finding.evidence = {
      time_fact("exposed_communication_per_step", "Collectives with no other GPU work, per step",
                rank.part_ns(Part::exposed_communication)),
      time_fact("waiting_per_step", "Waiting in collectives for other ranks, per step",
                rank.part_ns(Part::idle_waiting_for_rank)),
      share_fact("overlap", "Of the collectives' time overlapped by computation",
                 traffic.overlapped_ns / std::max(1.0, traffic.time_ns)),
      count_fact("collectives_per_step", "Collectives per step", traffic.collectives / rank.step_count()),
  };
  if (traffic.elements > 0) {
    finding.evidence.push_back(count_fact("elements_per_collective", "Elements per collective, mean",
                                          traffic.elements / std::max(1.0, traffic.collectives)));
  }
  add_bandwidth(evidence, rank, finding);
  finding.recommendations = {
      {AdviceKind::code,
       "Reduce gradients less often: accumulate over several batches, or take a larger batch per GPU.",
       "with model.no_sync(): loss.backward()  # all but every k-th batch"},
      {AdviceKind::code, "Fewer, larger buckets, and no copy into them.",
       "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)"},
      {AdviceKind::code, "Send gradients in 16 bits.",
       "model.register_comm_hook(None, default_hooks.bf16_compress_hook)"},
      {AdviceKind::environment, "See which path NCCL takes (NVLink, PCIe, network).", "NCCL_DEBUG=INFO"},
  };
  show_works(
      rank, [&rank](std::size_t i) { return rank.list.works[i].category == Category::communication; }, finding);
  return {finding};
}

void change(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (rank.list.works[i].category != Category::communication) continue;
      change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
      change.ranks[r].dispatch_scale[i] *= static_cast<float>(1 - success);
    }
  }
}

}  // namespace

constinit const Rule kMultiGpuCommRule = {
    "multi_gpu_comm", "multi_gpu_comm", "Is communication exposed?", Need::gpu_work, apply, change, {1.0, 0.05, 0.33}};

}  // namespace warpmark::analyze
