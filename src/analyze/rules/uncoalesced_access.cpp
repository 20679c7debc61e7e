// Neighbouring threads access distant addresses, so that most of every 32-byte sector is moved for nothing. Judged by
// the excessive sectors that Nsight Compute counts; else by sectors per request (4 are ideal for 4-byte words, 32 the
// worst).
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kIdealSectors = 4;  // a request of 4-byte words; 8-byte words need twice as many

std::optional<KernelSaving> judge_uncoalesced_access(const KernelProfile& profile) {
  const double memory =
      profile.metric("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed").value_or(100) / 100;
  const auto excessive = profile.metric("derived__memory_l2_theoretical_sectors_global_excessive");
  const auto sectors = profile.metric("memory_l2_theoretical_sectors_global");
  if (excessive && sectors && *sectors > 0) {
    const double share = *excessive / *sectors;
    if (share < 1 - kNearlyAll) return std::nullopt;
    return KernelSaving{share * memory,
                        fmt::format("{:.0f} % of the sectors moved between L1 and L2 are excessive", share * 100),
                        "excessive_sectors", share, ""};
  }
  const auto per_request = profile.metric("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
  if (!per_request || *per_request <= 2 * kIdealSectors) return std::nullopt;
  return KernelSaving{(1 - kIdealSectors / *per_request) * memory,
                      fmt::format("{:.1f} sectors per load request, 4 are ideal", *per_request), "sectors_per_request",
                      *per_request, ""};
}

std::vector<Finding> apply_uncoalesced_access(const Evidence& evidence) {
  return kernel_finding(
      kUncoalescedAccessRule, evidence, "Memory accesses are not coalesced",
      {{AdviceKind::code,
        "Let neighbouring threads access neighbouring addresses: arrays of fields instead of "
        "arrays of structures, the fastest index from threadIdx.x.",
        "y[i] = x[i];  // i = blockIdx.x * blockDim.x + threadIdx.x"},
       {AdviceKind::code, "Where the order is random, stage tiles in shared memory or sort the indices first.",
        "__shared__ float tile[32][33];"}},
      judge_uncoalesced_access);
}

}  // namespace

constinit const Rule kUncoalescedAccessRule = {"uncoalesced_access", "memory_bandwidth",
                                               "Are memory accesses coalesced?", Need::kernel_profiles,
                                               apply_uncoalesced_access};

}  // namespace warpmark::analyze
