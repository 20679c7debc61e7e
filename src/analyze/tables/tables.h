// The tables of an analysis, as HTA (Holistic Trace Analysis) has them; one function each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "model/analysis.h"

namespace warpmark::analyze {

[[nodiscard]] AnalysisTable kernel_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable operator_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable launch_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable queue_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable copy_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable idle_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable overlap_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable rank_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable collective_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable collective_benchmark_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable critical_path_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable range_table(const Evidence& evidence, std::size_t rows);
[[nodiscard]] AnalysisTable phase_table(const Evidence& evidence);
/// A card a kernel that a kernel profiler measured, the costliest first, with its point under the peaks.
[[nodiscard]] AnalysisTable kernel_card_table(const Evidence& evidence, std::size_t rows);
/// What the kernel profiler's own rules say of them; empty if it printed none.
[[nodiscard]] AnalysisTable kernel_rule_table(const Evidence& evidence, std::size_t rows);
/// The points of these kernels and the peaks above them, for a plot; empty where FLOPs or bytes were not measured.
[[nodiscard]] AnalysisTable kernel_roofline_table(const Evidence& evidence, std::size_t rows);
/// The same kernels in two profiles of a kernel profiler.
[[nodiscard]] AnalysisTable kernel_card_diff(const Evidence& before, const Evidence& after, std::size_t rows);

/// Peaks, what was reserved in vain, and the share of each GPU's memory. These three are empty where no allocation was
/// recorded.
[[nodiscard]] AnalysisTable memory_table(const Evidence& evidence);
/// Points of a plot, of the critical rank.
[[nodiscard]] AnalysisTable memory_curve_table(const Evidence& evidence);
[[nodiscard]] AnalysisTable operator_memory_table(const Evidence& evidence, std::size_t rows);

[[nodiscard]] std::vector<AnalysisTable> all_tables(const Evidence& evidence, std::size_t rows);

/// Nothing unless both have a timeline with steps.
[[nodiscard]] std::optional<StepDifference> step_difference(const Evidence& before, const Evidence& after);
/// What changed from `before` to `after`, per step, by operator and by kernel; also which appeared and vanished.
[[nodiscard]] std::vector<AnalysisTable> diff_tables(const Evidence& before, const Evidence& after, std::size_t rows);

}  // namespace warpmark::analyze
