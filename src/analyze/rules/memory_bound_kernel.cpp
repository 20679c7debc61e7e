// A kernel at the memory peak: it only gets faster by moving fewer bytes. Thresholds as in Nsight Compute's bottleneck
// rule: memory throughput from 80 % on, and 10 points above computing.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge(const KernelProfile& profile) {
  const auto memory = memory_throughput(profile);
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(0);
  if (!memory || *memory < kNcuHigh || *memory - compute < kNcuFar) return std::nullopt;
  return KernelSaving{std::max(kMatters, 1 - *memory / 100),  // whether bytes can be saved is for its author to know
                      fmt::format("memory at {:.0f} % of its peak, computing at {:.0f} %", *memory, compute),
                      "memory_throughput", *memory / 100, ""};
}

constexpr Advice kMoveFewerBytes = {
    .kind = AdviceKind::code,
    .text = "Move fewer bytes: let the compiler fuse it with what is before or after, and use 16-bit types.",
    .native = "",
    .pytorch = "model = torch.compile(model)",
    .jax = "step = jax.jit(step)  # the whole step, not its parts",
};

std::vector<Finding> apply(const Evidence& evidence) {
  std::vector<Finding> findings =
      kernel_finding(kMemoryBoundKernelRule, evidence, "The memory's bandwidth is used up",
                     {{AdviceKind::code,
                       "Move fewer bytes: fuse with the kernel before or after, use 16-bit types, keep reused "
                       "data in shared memory.",
                       "using T = __nv_bfloat16;"}},
                     judge, kMoveFewerBytes);
  for (Finding& finding : findings) finding.gain.method = "throughput up to the peak; fewer bytes can gain more";
  return findings;
}

}  // namespace

constinit const Rule kMemoryBoundKernelRule = {"memory_bound_kernel", "memory_bandwidth",
                                               "Is a kernel limited by memory bandwidth?", Need::kernel_profiles,
                                               apply};

}  // namespace warpmark::analyze
