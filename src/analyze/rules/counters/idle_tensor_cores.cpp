// From sampled counters: matrix work, and tensor cores that do nothing. That there is matrix work a timeline tells;
// where there is none, the units of single precision are busy instead, which other programs want, too: a note. NVIDIA's
// DCGM documentation, "Profiling Metrics", Tensor Activity.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kIdle = 0.05;        // of the tensor cores' time
constexpr double kMuchMatrix = 0.3;   // of the step
constexpr double kBusySingles = 0.2;  // of the time of the units of single precision
constexpr double kMostSeverity = 0.3;

/// Whether there is matrix work, as far as is known; what tells it is put into the finding.
std::optional<Fact> matrix_work(const Evidence& evidence, int device) {
  if (evidence.has_timeline()) {
    const RankEvidence& rank = evidence.rank();
    const double share = (rank.part_ns(Part::gemm) + rank.part_ns(Part::convolution)) / rank.undisturbed_step_ns();
    if (share < kMuchMatrix) return std::nullopt;
    return share_fact("matrix_share", "Matrix products and convolutions, of the step", share);
  }
  const CounterSeries* singles = series_of(evidence, "fp32_active", device);
  const auto used = singles == nullptr ? std::nullopt : in_use(evidence, *singles);
  if (!used || used->mean < kBusySingles) return std::nullopt;
  return share_fact("fp32_active", "Units of single precision are busy", used->mean);
}

std::vector<Finding> apply(const Evidence& evidence) {
  for (const CounterSeries* series : series_of(evidence, "tensor_active")) {
    if (!is_used(evidence, *series)) continue;
    const auto used = in_use(evidence, *series);
    if (!used || used->mean >= kIdle) continue;
    const auto matrix = matrix_work(evidence, series->device);
    if (!matrix) continue;
    const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
    Finding finding = make_finding(kIdleTensorCoresRule, matrix->value.value_or(0) * step / 2, step,
                                   fmt::format("The tensor cores of GPU {} are busy in {:.1f} % of the time only",
                                               series->device, used->mean * 100));
    finding.severity = std::min(finding.severity, kMostSeverity);
    finding.lost_ns = 0;
    finding.evidence = {share_fact("tensor_active", "Tensor cores are busy", used->mean), *matrix};
    advise(evidence, {compute_in_16_bits(evidence)}, finding);
    finding.recommendations.push_back({AdviceKind::measure,
                                       "If this is no matrix work, nothing is wrong: see which kernels run.",
                                       "warpmark profile -- <command>"});
    finding.gain = at_most(1 / (1 - matrix->value.value_or(0) / 2),
                           "half of that time, if it is matrix work that tensor cores can do");
    return {finding};
  }
  return {};
}

}  // namespace

constinit const Rule kIdleTensorCoresRule = {"idle_tensor_cores", "kernel_efficiency",
                                             "Are the tensor cores idle beside matrix work?", Need::counters, apply};

}  // namespace warpmark::analyze
