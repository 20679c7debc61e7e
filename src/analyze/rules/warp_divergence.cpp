// Threads of a warp take different branches. Threshold: fewer than 80 % of the 32 threads
// active; Nsight Compute's own rule begins at 24.
#include <fmt/format.h>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge_warp_divergence(const KernelProfile& profile) {
  constexpr double kWarp = 32;  // threads
  auto threads = profile.metric("smsp__thread_inst_executed_per_inst_executed.ratio");
  if (const auto percent = profile.metric("smsp__thread_inst_executed_per_inst_executed.pct"); !threads && percent) {
    threads = *percent / 100 * kWarp;
  }
  if (!threads || *threads * 100 >= kNcuHigh * kWarp) return std::nullopt;
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(100) / 100;
  return KernelSaving{(1 - *threads / kWarp) * compute, fmt::format("{:.1f} of 32 threads of a warp active", *threads),
                      "active_threads_per_warp", *threads, ""};
}

std::vector<Finding> apply_warp_divergence(const Evidence& evidence) {
  return kernel_finding(kWarpDivergenceRule, evidence, "Warps diverge",
                        {{AdviceKind::code,
                          "Give neighbouring threads the same branch: sort or bin the work by its length, or let a "
                          "whole warp share one item.",
                          "const int item = index / 32;  // one item a warp, lanes split its work"}},
                        judge_warp_divergence);
}

}  // namespace

constinit const Rule kWarpDivergenceRule = {"warp_divergence", "kernel_efficiency",
                                            "Do the threads of a warp stay together?", Need::kernel_profiles,
                                            apply_warp_divergence};

}  // namespace warpmark::analyze
