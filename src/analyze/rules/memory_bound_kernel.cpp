// A kernel at the memory peak: it only gets faster by moving fewer bytes. Thresholds as in Nsight Compute's bottleneck
// rule: memory throughput from 80 % on, and 10 points above computing.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// The caches or shared memory are at their peak and the memory behind them is not.
bool is_before_memory(const KernelProfile& profile, double throughput) {
  for (const char* name : {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                           "dram__throughput.avg.pct_of_peak_sustained_elapsed"}) {
    if (const auto dram = profile.metric(name)) return throughput - *dram >= kNcuFar;
  }
  return false;
}

/// What is left of the peak, and at least what matters: whether bytes can be saved is for the kernel's author to know.
std::optional<KernelSaving> judge_memory_bound_kernel(const KernelProfile& profile) {
  const auto memory = memory_throughput(profile);
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(0);
  if (!memory || *memory < kNcuHigh || *memory - compute < kNcuFar) return std::nullopt;
  KernelSaving saving{
      .fraction = std::max(kMatters, 1 - *memory / 100), .id = "memory_throughput", .value = *memory / 100};
  if (!is_before_memory(profile, *memory)) {
    saving.title = "The memory's bandwidth is used up";
    saving.text = fmt::format("memory at {:.0f} % of its peak, computing at {:.0f} %", *memory, compute);
    saving.fixes = {{AdviceKind::code,
                     "Move fewer bytes: fuse with the kernel before or after, use 16-bit types, keep reused data in "
                     "shared memory.",
                     "using T = __nv_bfloat16;"}};
    return saving;
  }
  saving.title = "Caches or shared memory are used up";
  saving.text = fmt::format("L1, L2 or shared memory at {:.0f} % of its peak, not the memory behind", *memory);
  for (const char* of : {"", "_op_ld"}) {  // all accesses, or loads alone
    const auto conflicts = profile.metric(fmt::format("l1tex__data_bank_conflicts_pipe_lsu_mem_shared{}.sum", of));
    const auto all = profile.metric(fmt::format("l1tex__data_pipe_lsu_wavefronts_mem_shared{}.sum", of));
    if (!conflicts || !all || *all <= 0) continue;
    saving.text += fmt::format("; {:.0f} % of shared memory's wavefronts are bank conflicts", 100 * *conflicts / *all);
    break;
  }
  saving.fixes = {{AdviceKind::code,
                   "Access shared memory without bank conflicts (pad its rows), and keep in registers what a thread "
                   "reads again.",
                   "__shared__ float tile[32][33];"}};
  return saving;
}

constexpr Advice kMoveFewerBytes = {
    .kind = AdviceKind::code,
    .text = "Move fewer bytes: let the compiler fuse it with what is before or after, and use 16-bit types.",
    .native = "",
    .pytorch = "model = torch.compile(model)",
    .jax = "step = jax.jit(step)  # the whole step, not its parts",
};

std::vector<Finding> apply_memory_bound_kernel(const Evidence& evidence) {
  std::vector<Finding> findings =
      kernel_finding(kMemoryBoundKernelRule, evidence, "The bandwidth of memory or caches is used up", {},
                     judge_memory_bound_kernel, kMoveFewerBytes);
  for (Finding& finding : findings) finding.gain.method = "throughput up to the peak; fewer bytes can gain more";
  return findings;
}

}  // namespace

constinit const Rule kMemoryBoundKernelRule = {"memory_bound_kernel", "memory_bandwidth",
                                               "Is a kernel limited by memory bandwidth?", Need::kernel_profiles,
                                               apply_memory_bound_kernel};

}  // namespace warpmark::analyze
