// From sampled counters: units of double precision work. Programs that learn or infer want none, and GPUs but those for
// science have few such units: 1/64 of those of single precision on Ada, 1/2 on Hopper (NVIDIA's whitepapers of both).
// A note, as science may want them. NVIDIA's DCGM documentation, "Profiling Metrics", FP64 Engine Activity.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/cures/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kWorks = 0.05;  // of the units' time
constexpr double kMostSeverity = 0.3;

std::vector<Finding> apply(const Evidence& evidence) {
  for (const CounterSeries* series : series_of(evidence, "fp64_active")) {
    if (!is_used(evidence, *series)) continue;
    const auto used = in_use(evidence, *series);
    if (!used || used->mean < kWorks) continue;
    const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
    Finding finding =
        make_finding(kDoublePrecisionRule, used->mean * step, step,
                     fmt::format("The units of double precision of GPU {} are busy in {:.0f} % of the time",
                                 series->device, used->mean * 100));
    finding.severity = std::min(std::max(finding.severity, 0.1), kMostSeverity);
    finding.lost_ns = 0;
    finding.evidence = {share_fact("fp64_active", "Units of double precision are busy", used->mean)};
    if (const CounterSeries* singles = series_of(evidence, "fp32_active", series->device)) {
      if (const auto beside = in_use(evidence, *singles)) {
        finding.evidence.push_back(share_fact("fp32_active", "Those of single precision", beside->mean));
      }
    }
    finding.recommendations = {
        {AdviceKind::code, "If nothing needs 64 bits, look for a float64 that crept in: an array of NumPy, a constant.",
         ""},
        {AdviceKind::measure, "See which kernels compute in double precision.", "warpmark profile -- <command>"}};
    if (evidence.has_timeline()) finding.recommendations.pop_back();
    finding.gain =
        shaped(1.0, 1 / std::max(1 - used->mean / 2, 0.1), "half of that time, if single precision is enough");
    return {finding};
  }
  return {};
}

}  // namespace

constinit const Rule kDoublePrecisionRule = {
    "double_precision", "precision", "Does the GPU compute in double precision?", Need::counters, apply, nullptr, {}};

}  // namespace warpmark::analyze
