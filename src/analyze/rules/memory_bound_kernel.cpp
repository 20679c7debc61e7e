// A kernel at the memory peak: it only gets faster by moving fewer bytes. Thresholds as in Nsight Compute's bottleneck
// rule: memory throughput from 80 % on, and 10 points above computing.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

std::optional<double> throughput_at_peak(const KernelProfile& profile) {
  const auto memory = memory_throughput(profile);
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(0);
  if (!memory || *memory < kNcuHigh || *memory - compute < kNcuFar) return std::nullopt;
  return memory;
}

std::optional<KernelSaving> judge_caches(const KernelProfile& profile) {
  const auto memory = throughput_at_peak(profile);
  if (!memory || !is_before_memory(profile, *memory)) return std::nullopt;
  std::string text = fmt::format("L1, L2 or shared memory at {:.0f} % of its peak, not the memory behind", *memory);
  const auto conflicts = profile.metric("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum");
  const auto wavefronts = profile.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
  if (conflicts && wavefronts && *wavefronts > 0)
    text += fmt::format("; {:.0f} % of shared memory's wavefronts are bank conflicts", 100 * *conflicts / *wavefronts);
  return KernelSaving{std::max(kMatters, 1 - *memory / 100), std::move(text), "memory_throughput", *memory / 100, ""};
}

std::optional<KernelSaving> judge(const KernelProfile& profile) {
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(0);
  const auto memory = throughput_at_peak(profile);
  if (!memory || is_before_memory(profile, *memory)) return std::nullopt;
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
  std::ranges::move(kernel_finding(kMemoryBoundKernelRule, evidence, "Caches or shared memory are used up",
                                   {{AdviceKind::code,
                                     "Access shared memory without bank conflicts (pad its rows), and keep in "
                                     "registers what a thread reads again.",
                                     "__shared__ float tile[32][33];"}},
                                   judge_caches, kMoveFewerBytes),
                    std::back_inserter(findings));
  for (Finding& finding : findings) finding.gain.method = "throughput up to the peak; fewer bytes can gain more";
  return findings;
}

}  // namespace

constinit const Rule kMemoryBoundKernelRule = {"memory_bound_kernel", "memory_bandwidth",
                                               "Is a kernel limited by memory bandwidth?", Need::kernel_profiles,
                                               apply};

}  // namespace warpmark::analyze
