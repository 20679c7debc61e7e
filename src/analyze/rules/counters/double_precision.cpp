// From sampled counters: units of double precision work. Programs that learn or infer want none, and GPUs but those for
// science have few such units: 1/64 of those of single precision on Ada, 1/2 on Hopper (NVIDIA's whitepapers of both).
// A note, as science may want them. NVIDIA's DCGM documentation, "Profiling Metrics", FP64 Engine Activity.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kWorks = 0.05;         // of the units' time
constexpr double kLeastSeverity = 0.1;  // a note
constexpr double kMostSeverity = 0.3;

std::vector<Finding> apply(const Evidence& evidence) {
  const auto busiest = busiest_of(evidence, "fp64_active", kWorks);
  if (!busiest) return {};
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  Finding finding = make_finding(kDoublePrecisionRule, busiest->mean * step, step,
                                 fmt::format("The units of double precision of GPU {} are busy in {:.0f} % of the time",
                                             busiest->device, busiest->mean * 100));
  finding.severity = std::min(std::max(finding.severity, kLeastSeverity), kMostSeverity);
  finding.lost_ns = 0;
  finding.evidence = {share_fact("fp64_active", "Units of double precision are busy", busiest->mean)};
  if (const CounterSeries* singles = series_of(evidence, "fp32_active", busiest->device)) {
    if (const auto beside = in_use(evidence, *singles)) {
      finding.evidence.push_back(share_fact("fp32_active", "Those of single precision", beside->mean));
    }
  }
  finding.recommendations = {{AdviceKind::code,
                              "If nothing needs 64 bits, look for a float64 that crept in: an array of NumPy, a "
                              "constant.",
                              ""}};
  if (!evidence.has_timeline()) {
    finding.recommendations.push_back(
        {AdviceKind::measure, "See which kernels compute in double precision.", "warpmark profile -- <command>"});
  }
  finding.gain = at_most(1 / std::max(1 - busiest->mean / 2, 0.1), "half of that time, if single precision is enough");
  return {finding};
}

}  // namespace

constinit const Rule kDoublePrecisionRule = {"double_precision", "precision",
                                             "Does the GPU compute in double precision?", Need::counters, apply};

}  // namespace warpmark::analyze
