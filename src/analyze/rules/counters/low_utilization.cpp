// From nvidia-smi alone: the GPU has no kernel for much of the time, and memory that no batch uses. Utilization is the
// share of time in which one or more kernels ran (nvidia-smi manual, "GPU utilization"): what is left is idle whatever
// the kernels do. Operators aim at four fifths.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"
#include "base/text.h"

namespace warpmark::analyze {

namespace {

constexpr double kUsed = 0.01;  // of the time; nvidia-smi shows whole percents

struct Use {
  int device = -1;
  double busy = 1;
  std::optional<double> memory;  ///< of the GPU's
};

std::optional<double> memory_share(const Evidence& evidence, int device) {
  const auto most = highest_of(evidence, "memory_used", device), all = highest_of(evidence, "memory_total", device);
  return most && all && *all > 0 ? std::optional(*most / *all) : std::nullopt;
}

std::vector<Use> uses_of(const Evidence& evidence) {
  std::vector<Use> uses;
  for (const CounterSeries* series : series_of(evidence, "gpu_utilization")) {
    const auto mean = mean_of(*series);
    if (series->device >= 0 && mean) uses.push_back({series->device, *mean, memory_share(evidence, series->device)});
  }
  return uses;
}

Finding of_idle(const Use& use, std::size_t gpus) {
  Finding finding =
      make_finding(kLowUtilizationRule, 0, 1,
                   fmt::format("GPU {} runs kernels in {:.0f} % of the time{}", use.device, use.busy * 100,
                               gpus > 1 ? fmt::format(" (the least busy of {} GPUs)", gpus) : ""));
  finding.severity = 1 - use.busy;
  finding.evidence = {share_fact("gpu_utilization", "Time with a kernel on the GPU", use.busy),
                      share_fact("usual_utilization", "Usual target", kEffectiveUse)};
  finding.recommendations = {{AdviceKind::measure, "See what the GPU waits for: data, the host, copies or other ranks.",
                              "warpmark profile -- <command>"}};
  finding.gain = {1.0, 1 / use.busy, "no idle time at all, at most; what the GPU waits for is not in counters"};
  if (use.busy < kUsed) finding.gain = {.method = "the GPU is hardly used at all", .unknown = true};
  return finding;
}

Finding of_unused(const std::vector<std::string>& gpus) {
  Finding finding = make_finding(kLowUtilizationRule, 0, 1,
                                 fmt::format("GPU {} {} not used", join(gpus, ", "), gpus.size() == 1 ? "is" : "are"));
  finding.severity = kWarning;
  finding.recommendations = {
      {AdviceKind::config, "Run on all GPUs, or leave those that are not needed to others.", ""}};
  finding.gain = {.method = "what the program could do there is not known", .unknown = true};
  return finding;
}

Finding of_memory(const Use& use) {
  const double more = 1 / *use.memory;
  Finding finding = make_finding(kLowUtilizationRule, 0, 1,
                                 fmt::format("{:.0f} % of the memory of GPU {} is never used: room for a larger batch",
                                             (1 - *use.memory) * 100, use.device));
  finding.severity = std::min(1 - use.busy, 1 - *use.memory) / 2;
  finding.evidence = {share_fact("memory_share", "Most memory in use, of the GPU's", *use.memory),
                      share_fact("gpu_utilization", "Time with a kernel on the GPU", use.busy)};
  finding.recommendations = {{AdviceKind::config,
                              fmt::format("Try a batch up to {:.1f} times as large: each launch then does more.", more),
                              ""}};
  finding.gain = {1.0, std::min(more, 1 / use.busy), "idle time filled by the larger batch, at most", true};
  return finding;
}

std::vector<Finding> apply_low_utilization(const Evidence& evidence) {
  if (evidence.has_timeline()) return {};  // whose rules know why
  std::vector<Use> uses = uses_of(evidence);
  if (uses.empty()) return {};
  // A GPU that nothing runs on is not slow, unless no GPU is used.
  const bool any_used = std::ranges::any_of(uses, [](const Use& one) { return one.busy >= kUsed; });
  std::vector<std::string> unused;
  for (const Use& one : uses) {
    if (any_used && one.busy < kUsed) unused.push_back(std::to_string(one.device));
  }
  if (any_used) std::erase_if(uses, [](const Use& one) { return one.busy < kUsed; });
  const Use& least = *std::ranges::min_element(uses, {}, &Use::busy);
  std::vector<Finding> findings;
  if (least.busy < kEffectiveUse) findings.push_back(of_idle(least, uses.size()));
  if (least.busy < kEffectiveUse && least.memory && *least.memory < kEffectiveUse) findings.push_back(of_memory(least));
  if (!unused.empty()) findings.push_back(of_unused(unused));
  return findings;
}

}  // namespace

constinit const Rule kLowUtilizationRule = {"low_utilization", "kernel_efficiency",
                                            "Is the GPU busy, and its memory used?", Need::counters,
                                            apply_low_utilization};

}  // namespace warpmark::analyze
