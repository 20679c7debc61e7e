// The parts of build_report(), one file each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/run.h"
#include "model/run_query.h"
#include "report/results/device_groups.h"
#include "report/results/labels.h"

namespace warpmark::report {

// headline.cpp
[[nodiscard]] Section summary_section(const Session& session, const RunLabels& labels);

// build.cpp
[[nodiscard]] Section machine_section(const Session& session);
[[nodiscard]] std::optional<Section> ceilings_section(const Session& session);
/// "memory bandwidth", "bf16 compute", "h2d link", "launch".
[[nodiscard]] std::string ceiling_name(const Ceiling& ceiling);
/// The same peak on the devices of a group.
struct MeasuredPeak {
  std::size_t devices = 0;
  bool unreliable = false;  ///< on any of them
  std::string text;         ///< "93.4 GB/s", "3.1 TB/s to 3.2 TB/s"
};
[[nodiscard]] MeasuredPeak measured_peak(const std::vector<Ceiling>& ceilings, const Ceiling& wanted,
                                         const DeviceGroup& group);
/// Names and texts without a header.
[[nodiscard]] Table machine_table(const Machine& machine);
[[nodiscard]] Table device_table(const DeviceInfo& device);

// build_problems.cpp
/// Failed, errors, unreliable, not converged: the worst first.
[[nodiscard]] std::optional<Section> problems_section(const Session& session, const RunLabels& labels);
/// Unsupported and skipped, by reason.
[[nodiscard]] std::optional<Section> unmeasured_section(const Session& session, const RunLabels& labels);

// build_results.cpp: a section a device.
[[nodiscard]] std::vector<Section> results_sections(const Session& session, const RunLabels& labels);

// speedups.cpp: against a baseline in the same session; nothing where there is none.
[[nodiscard]] std::optional<Section> speedups_section(const Session& session, const RunLabels& labels);

// build_models.cpp: rates, utilization and share of the model's own peak.
[[nodiscard]] std::optional<Section> targets_section(const Session& session, const RunLabels& labels);
[[nodiscard]] std::optional<Section> models_section(const Session& session, const RunLabels& labels);

// build_metrics.cpp: all metrics of what has no peak.
[[nodiscard]] bool is_command(const Run& run);
[[nodiscard]] bool shown_by_metrics(const Run& run);
/// "[49.10 ms, 51.20 ms]", or the interval that a score came with; empty where too few samples support one.
[[nodiscard]] std::string metric_interval(const Run& run, const Metric& metric);
/// Samples, or the examples of a score.
[[nodiscard]] std::string metric_count(const Run& run, const Metric& metric);
[[nodiscard]] std::optional<Section> metrics_section(const Session& session, const RunLabels& labels);

// stages.cpp: commands in stages, and of several sizes.
[[nodiscard]] std::vector<Section> stages_sections(const Session& session, const RunLabels& labels);

// build_plots.cpp: roofline and bandwidth curves of each device.
[[nodiscard]] std::vector<Section> plot_sections(const Session& session, const RunLabels& labels);

// build_details.cpp: a folded section a workload.
[[nodiscard]] std::vector<Section> detail_sections(const Session& session, const RunLabels& labels);

/// This case was the fastest of those that measure its peak: 100 % by definition.
[[nodiscard]] inline bool defines_its_peak(const Run& run) {
  return run.peak && run.peak->ceiling.ends_with("(" + run.workload + " " + to_text(run.params) + ")");
}

/// A share of the peak above this is more than noise: the peak was measured too low.
inline constexpr double kAboveThePeak = 1.05;

/// Has numbers that may be shown: measured, and not with a wrong result.
[[nodiscard]] inline bool shows_speed(const Run& run) {
  return is_measured(run.outcome) && !run.metrics.empty() && run.metrics.front().summary.n > 0;
}

}  // namespace warpmark::report
