// MachineSummary as JSON, "warpmark.monitor_summary/1".
#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/machine_summary.h"

namespace warpmark {
namespace {

constexpr Field kExtentFields[] = {
    field<&Extent::least>("min"),
    field<&Extent::mean>("mean"),
    field<&Extent::most>("max"),
    field<&Extent::looks>("looks", "At which the figure was reported.").within(kAtLeastOne),
};
constexpr RecordOf<Extent> kExtent{"extent", "", kExtentFields};

/// A figure that was told at a look, at least.
template <auto kMember>
constexpr Field extent(const char* key, const char* meaning) {
  using Owner = typename fields::Path<kMember>::Owner;
  return field<kMember>(key, meaning, kExtent).when([](const Owner& owner) { return (owner.*kMember).looks != 0; });
}

constexpr auto was_lost = [](const GpuSummary& gpu) { return gpu.lost_looks > 0; };

constexpr Field kGpuSummaryFields[] = {
    field<&GpuSummary::index>("index"),
    field<&GpuSummary::name>("name"),
    field<&GpuSummary::memory_bytes>("memory", "B that it has.").when([](const GpuSummary& gpu) {
      return gpu.memory_bytes > 0;
    }),
    extent<&GpuSummary::utilization>("utilization", "Ratio."),
    extent<&GpuSummary::memory_used>("memory_used", "B."),
    extent<&GpuSummary::power>("power", "W."),
    extent<&GpuSummary::sm_clock>("sm_clock", "Hz."),
    extent<&GpuSummary::temperature>("temperature", "Degrees Celsius."),
    field<&GpuSummary::lost_looks>("lost_looks", "At which it did not answer.").within(kAtLeastOne).when(was_lost),
    field<&GpuSummary::problem>("problem", "Why it did not answer, the last time.").when(was_lost),
    field<&GpuSummary::slowed_looks>("slowed_looks", "At which power, heat or the like held its clock down.")
        .within(kNonNegative),
};
constexpr RecordOf<GpuSummary> kGpuSummary{"gpu", "", kGpuSummaryFields};

constexpr Field kMachineSummaryFields[] = {
    field<&MachineSummary::looks>("looks").within(kNonNegative),
    field<&MachineSummary::seconds>("seconds", "From the first look to the last."),
    extent<&MachineSummary::host_utilization>("host_utilization", "Ratio."),
    extent<&MachineSummary::host_memory_used>("host_memory_used", "B."),
    field<&MachineSummary::gpus>("gpus", "", kGpuSummary),
    field<&MachineSummary::gpu_problem>("gpu_problem", "Why no GPU is listed.").unless_empty(),
};

}  // namespace

constexpr RecordOf<MachineSummary> kMachineSummary{"machine_summary",
                                                   "What `warpmark monitor --json` writes at its end: min, mean and "
                                                   "max of each figure. Units are SI without prefixes; "
                                                   "utilization is a ratio.",
                                                   kMachineSummaryFields, kMonitorSummarySchema};

Json to_json(const MachineSummary& summary) { return write(kMachineSummary, summary); }

}  // namespace warpmark
