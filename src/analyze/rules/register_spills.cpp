// Registers are too few for what a thread keeps, so that it writes values to local memory and reads them again (CUDA
// C++ Best Practices Guide, "Local Memory" and "Register Pressure"). Threshold as in Nsight Compute's rule
// LocalMemoryUsage: 10 % of the requests.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr const char* kCountAlone = "local_instructions";

/// Loads and stores of a kind of memory, by the first of the metrics that were taken.
std::optional<double> accesses(const KernelProfile& profile, const char* memory) {
  for (const char* name : {"l1tex__t_requests_pipe_lsu_mem_{}_op_{}.sum", "smsp__sass_inst_executed_op_{}_{}.sum",
                           "smsp__inst_executed_op_{}_{}.sum"}) {
    const auto loads = profile.metric(fmt::format(fmt::runtime(name), memory, "ld"));
    const auto stores = profile.metric(fmt::format(fmt::runtime(name), memory, "st"));
    if (loads || stores) return loads.value_or(0) + stores.value_or(0);
  }
  return std::nullopt;
}

std::optional<KernelSaving> judge_register_spills(const KernelProfile& profile) {
  constexpr double kLocalMemoryUsage = 0.1;
  const auto spilled = profile.metric("derived__local_spilling_requests_pct");
  const auto local = accesses(profile, "local"), global = accesses(profile, "global");
  const double memory = memory_throughput(profile).value_or(100) / 100;
  const double registers = profile.metric("launch__registers_per_thread").value_or(0);
  const std::string with = registers > 0 ? fmt::format(", with {:.0f} registers per thread", registers) : "";
  if (spilled || (local && global && *local > 0)) {
    const double share = spilled ? *spilled / 100 : *local / (*local + *global);
    if (share < kLocalMemoryUsage) return std::nullopt;
    return KernelSaving{share * memory, fmt::format("{:.0f} % of the memory requests are spills{}", share * 100, with),
                        "spill_share", share, ""};
  }
  if (!local || *local <= 0) return std::nullopt;
  return KernelSaving{memory, fmt::format("{:.3g} accesses to local memory{}", *local, with), kCountAlone, *local, ""};
}

std::vector<Finding> apply_register_spills(const Evidence& evidence) {
  std::vector<Finding> findings = kernel_finding(
      kRegisterSpillsRule, evidence, "Registers spill to local memory",
      {{AdviceKind::code,
        "Keep fewer values at a time: smaller tiles, less unrolling, a kernel in two; or let a thread have more "
        "registers (-maxrregcount, __launch_bounds__).",
        "nvcc -Xptxas -v  # prints the spills of each kernel"}},
      judge_register_spills);
  for (Finding& finding : findings) {
    if (finding.evidence.front().id != kCountAlone) continue;
    finding.severity = std::min(finding.severity, kWarning);
    finding.gain = {.method = "how much of the memory traffic is local was not measured", .unknown = true};
  }
  return findings;
}

}  // namespace

constinit const Rule kRegisterSpillsRule = {"register_spills", "kernel_efficiency",
                                            "Do the registers suffice for what threads keep?", Need::kernel_profiles,
                                            apply_register_spills};

}  // namespace warpmark::analyze
