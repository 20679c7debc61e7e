// From sampled counters: the GPU's memory is about as busy as it can be. NVIDIA's DCGM documentation, "Profiling
// Metrics", DRAM Active: a cycle in which memory sends or receives counts, and in practice about 0.8 is the most.
// Counters do not say which kernels move the bytes; where a timeline does, its rules stand before this note.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply_memory_busy(const Evidence& evidence) {
  const auto busiest = busiest_of(evidence, "dram_active", kEffectiveUse / kClearlyMore);
  if (!busiest) return {};
  const bool alone = !evidence.has_timeline();
  const double share = std::min(1.0, busiest->mean / kEffectiveUse);
  Finding finding =
      counter_finding(kMemoryBusyRule, evidence, share,
                      fmt::format("The memory of GPU {} is busy in {:.0f} % of the time in which it is used",
                                  busiest->device, busiest->mean * 100));
  finding.severity = std::min(finding.severity, alone ? kCritical : kMostOfANote);
  finding.lost_ns = 0;  // bytes that have to be moved are no loss: no counter tells which need not
  finding.evidence = {share_fact("dram_active", "Memory sends or receives, over the samples with work", busiest->mean),
                      share_fact("dram_active_most", "As busy as memory gets, about (DCGM)", kEffectiveUse)};
  if (alone) {
    finding.recommendations.push_back({AdviceKind::measure, "See which kernels move the bytes, and how often they do.",
                                       "warpmark profile -- <command>"});
  }
  finding.recommendations.push_back(
      {AdviceKind::code, "Move each byte once: fuse what works on the same arrays, and keep them in 16 bits.", ""});
  finding.gain = at_most(1 / (1 - share / 2), "half of the bytes, if they need not be moved");
  return {finding};
}

}  // namespace

constinit const Rule kMemoryBusyRule = {"memory_busy", "memory_bandwidth", "Is the GPU's memory as busy as it can be?",
                                        Need::counters, apply_memory_busy};

}  // namespace warpmark::analyze
