// Too few warps on a multiprocessor to hide latency. Thresholds as in Nsight Compute's rules: theoretical occupancy
// below 80 %, or achieved more than 10 points below it.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rules/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge(const KernelProfile& profile) {
  const auto achieved = profile.metric("sm__warps_active.avg.pct_of_peak_sustained_active");
  const double theoretical = profile.metric("sm__maximum_warps_per_active_cycle_pct").value_or(100);
  if (!achieved || (theoretical >= 80 && theoretical - *achieved <= 10)) return std::nullopt;
  const double fraction = std::min(1 - *achieved / 100, 1 - best_throughput(profile));
  return KernelSaving{fraction,
                      fmt::format("occupancy {:.0f} % achieved, {:.0f} % possible with its registers and shared memory",
                                  *achieved, theoretical),
                      "achieved_occupancy", *achieved / 100, ""};
}

std::vector<Finding> apply(const Evidence& evidence) {
  return kernel_finding(
      kOccupancyRule, evidence, "Low occupancy",
      {{AdviceKind::code, "Use fewer registers or less shared memory per block, or blocks of another size.",
        "__global__ void __launch_bounds__(256, 4) kernel(float* y, const float* x, int count)"},
       {AdviceKind::code, "Let the runtime propose the block size.",
        "cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0);"}},
      judge);
}

}  // namespace

constinit const Rule kOccupancyRule = {
    "occupancy", "kernel_efficiency", "Do multiprocessors hold enough warps?", Need::kernel_profiles, apply, nullptr,
    {}};

}  // namespace warpmark::analyze
