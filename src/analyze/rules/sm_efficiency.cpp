// The multiprocessors issue rarely and neither computing nor memory is near its limit: latency. Thresholds as in Nsight
// Compute's rules: issue slots below 60 %, both throughputs below 60 %. Where nothing but throughputs was measured,
// they decide alone.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge_by_throughput(const KernelProfile& profile) {
  const auto compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed");
  const auto memory = memory_throughput(profile);
  const double best = best_throughput(profile);
  if (!compute || best * 100 >= kNcuLow) return std::nullopt;
  const std::string auxiliary =
      memory ? fmt::format(", memory at {:.0f} %", *memory) : std::string(" (memory was not measured)");
  return KernelSaving{1 - best, fmt::format("multiprocessors at {:.0f} % of their peak{}", *compute, auxiliary),
                      "sm_throughput", *compute / 100, ""};
}

std::optional<KernelSaving> judge_sm_efficiency(const KernelProfile& profile) {
  const auto issue = profile.metric("smsp__issue_active.avg.per_cycle_active");
  const double best = best_throughput(profile);
  if (has_small_grid(profile)) return std::nullopt;
  if (!issue) return judge_by_throughput(profile);
  if (*issue * 100 >= kNcuLow || best * 100 >= kNcuLow) return std::nullopt;
  return KernelSaving{
      std::min(1 - *issue, 1 - best),
      fmt::format("issues in {:.0f} % of the cycles, best throughput {:.0f} %", *issue * 100, best * 100),
      "issue_active", *issue, ""};
}

/// Throughputs alone say how far a kernel is from its peaks, and not that it could reach them: what they leave unused
/// is counted once, and is critical only where it is more than 60 %.
void count_once(const Evidence& evidence, std::vector<Finding>& findings) {
  constexpr double kMostUnused = 0.6;
  const bool issues_known = std::ranges::any_of(evidence.session->kernels, [](const KernelProfile& profile) {
    return profile.metric("smsp__issue_active.avg.per_cycle_active").has_value();
  });
  if (issues_known) return;
  for (Finding& finding : findings) {
    const double unused = 1 - 1 / finding.gain.high;
    finding.severity =
        unused > kMostUnused ? kCritical + (1 - kCritical) * (unused - kMostUnused) / (1 - kMostUnused) : unused;
  }
}

std::vector<Finding> apply_sm_efficiency(const Evidence& evidence) {
  std::vector<Finding> findings = kernel_finding(
      kSmEfficiencyRule, evidence, "Latency, not throughput, limits",
      {{AdviceKind::code, "Give each thread more independent work, so that loads are in flight together.",
        "#pragma unroll 4"},
       {AdviceKind::code, "Launch more blocks, or overlap small kernels on several streams.",
        "cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);"}},
      judge_sm_efficiency);
  count_once(evidence, findings);
  return findings;
}

}  // namespace

constinit const Rule kSmEfficiencyRule = {"sm_efficiency", "kernel_efficiency", "Do the multiprocessors keep issuing?",
                                          Need::kernel_profiles, apply_sm_efficiency};

}  // namespace warpmark::analyze
