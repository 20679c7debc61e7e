// Communication between GPUs that no computation overlaps. Waiting for a rank that has more work is load_imbalance;
// waiting that comes from meeting so often (equal work, unequal instants) is communication.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/evidence/collective_traffic.h"
#include "analyze/host/over_host.h"
#include "analyze/recommendations/comm_fixes.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/rules/rules.h"
#include "base/quantity.h"

namespace warpmark::analyze {

namespace {

struct Traffic {
  double collectives = 0;
  double elements = 0;
  double time_ns = 0;
  double overlapped_ns = 0;
  [[nodiscard]] double overlap() const { return overlapped_ns / std::max(1.0, time_ns); }
};

Traffic traffic_in_steps(const RankEvidence& rank) {
  Traffic sum;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    sum.collectives += 1;
    sum.time_ns += static_cast<double>(work.end - work.start);
    sum.overlapped_ns += static_cast<double>(rank.compute.covered(work.start, work.end));
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
  for (const CollectiveTraffic& one : collective_traffic(evidence, rank)) {
    if (one.bus_bandwidth <= 0) continue;
    std::string text = fmt::format("Largest {}: {} at {:.1f} GB/s of bus bandwidth", one.collective,
                                   format_bytes(one.bytes), one.bus_bandwidth * 1e-9);
    finding.evidence.push_back({std::move(text), "bus_bandwidth", one.bus_bandwidth, "B/s"});
    const auto known = benchmarked_bandwidth(evidence.session->collectives, one.collective, one.ranks, one.bytes);
    if (known) {
      finding.evidence.push_back({fmt::format("nccl-tests at that size: {:.1f} GB/s", *known * 1e-9),
                                  "benchmark_bus_bandwidth", *known, "B/s"});
    }
    return;
  }
}

double waiting_ns(const Evidence& evidence, std::size_t r) {
  return evidence.ranks[r].part_ns(Part::idle_waiting_for_rank);
}

std::string title_of(const Exposed& exposed, double lost, double step) {
  const std::string amount = time_text(lost) + " per step (" + format_percent(lost / step) + ")";
  return exposed.waiting > exposed.all() / 2 ? "Ranks wait for one another in collectives, " + amount
                                             : "Communication takes " + amount + " that no computation overlaps";
}

void add_evidence(const RankEvidence& rank, const Exposed& exposed, const Traffic& traffic, Finding& finding) {
  if (traffic.collectives > 0) {
    finding.evidence = {
        time_fact("exposed_communication_per_step", "Collectives with no other GPU work, per step",
                  exposed.collectives),
        time_fact("waiting_per_step", "Waiting in collectives that no rank's own work explains, per step",
                  exposed.waiting),
        share_fact("overlap", "Of the collectives' time overlapped by computation", traffic.overlap()),
        count_fact("collectives_per_step", "Collectives per step", traffic.collectives / rank.step_count()),
    };
  }
  if (exposed.between > 0) {
    finding.evidence.push_back(
        time_fact("between_collectives_per_step", "Idle between collectives, per step", exposed.between));
  }
  if (traffic.elements > 0) {
    finding.evidence.push_back(count_fact("elements_per_collective", "Elements per collective, mean",
                                          traffic.elements / std::max(1.0, traffic.collectives)));
  }
  if (const double collectives = host_collectives(*rank.timeline, rank.steps); collectives > 0) {
    finding.evidence.push_back(
        count_fact("host_collectives_per_step", "Collectives on the host per step", collectives));
  }
  if (exposed.over_host > 0) {
    finding.evidence.push_back(
        time_fact("over_host_per_step", "Copies and waits around them, per step", exposed.over_host));
  }
}

/// Whether a work is there to bring something to other ranks or from them.
bool communicates(const RankEvidence& rank, const GpuWork& work) {
  return work.category == Category::communication ||
         (rank.over_host != OverHost::nothing && is_host_copy(work.category));
}

std::vector<Finding> apply(const Evidence& evidence) {
  const Exposed& exposed = evidence.attribution.exposed;
  const double lost = evidence.attribution.lost_ns(Claimant::multi_gpu_comm);
  if (lost <= 0) return {};
  const double step = evidence.rank().undisturbed_step_ns();
  const RankEvidence& rank = evidence.ranks[evidence.attribution.most_exposed];
  const Traffic traffic = traffic_in_steps(rank);
  Finding finding = make_finding(kMultiGpuCommRule, lost, step, title_of(exposed, lost, step));
  add_evidence(rank, exposed, traffic, finding);
  add_bandwidth(evidence, rank, finding);
  add_comm_fixes(evidence, rank, traffic.overlap(), exposed.over_host > exposed.all() / 2, finding);
  show_works(
      rank, [&rank](std::size_t i) { return communicates(rank, rank.list.works[i]); }, finding);
  return {finding};
}

/// Copying, scaling and adding up what is sent, a parameter at a time: it goes with its collective. What lies between
/// two collectives, none of which is a model's own. Indices of works.
std::vector<std::size_t> works_between_collectives(const RankEvidence& rank) {
  const auto serves = [](Category category) {
    return category == Category::elementwise || category == Category::reduction || category == Category::other ||
           category == Category::copy_on_device || category == Category::memset;
  };
  std::vector<std::size_t> serving, since;
  bool after_collective = false;
  for (const ReplayWork& one : rank.replay.works()) {
    const Category category = rank.list.works[one.work].category;
    if (category == Category::communication) {
      if (after_collective) serving.insert(serving.end(), since.begin(), since.end());
      after_collective = true;
      since.clear();
    } else if (serves(category)) {
      since.push_back(one.work);
    } else {
      after_collective = false;
    }
  }
  return serving;
}

void drop_host_round_trips(OverHost what, double success, WhatIf& change) {
  for (const HostCause cause : {HostCause::transfer, HostCause::sync, HostCause::optimizer}) {
    if (cause != HostCause::transfer && what != OverHost::gradients) continue;
    change.host_scale[static_cast<std::size_t>(cause)] *= 1 - success;
    if (success >= 0.5) change.drop_wait[static_cast<std::size_t>(cause)] = true;
  }
}

void hide_communication(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    if (rank.over_host != OverHost::nothing) drop_host_round_trips(rank.over_host, success, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (!communicates(rank, rank.list.works[i])) continue;
      change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
      change.ranks[r].dispatch_scale[i] *= static_cast<float>(1 - success);
    }
    for (const std::size_t i : works_between_collectives(rank)) {
      change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
      change.ranks[r].dispatch_scale[i] *= static_cast<float>(1 - success);
    }
  }
}

/// Whether the ranks wait for one another mostly because one has more to do: that stays, however fast or hidden what
/// they send is.
bool waits_for_late_ranks(const Evidence& evidence) {
  std::size_t most = 0;
  for (std::size_t r = 1; r < evidence.ranks.size(); ++r) {
    if (waiting_ns(evidence, r) > waiting_ns(evidence, most)) most = r;
  }
  return evidence.attribution.imbalance.explained_ns(most) > waiting_ns(evidence, most) / 2;
}

void change(const Evidence& evidence, double success, Change& change) {
  hide_communication(evidence, success, change);
  if (!waits_for_late_ranks(evidence)) return;
  for (WhatIf& one : change.ranks) one.keeps_rendezvous = true;
}

}  // namespace

constinit const Rule kMultiGpuCommRule = {
    "multi_gpu_comm", "multi_gpu_comm", "Is communication exposed?", Need::gpu_work, apply, change};

}  // namespace warpmark::analyze
