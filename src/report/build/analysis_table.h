// An AnalysisTable as a table of a report: values in their columns' units; and what changed between two profiles. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "model/analysis.h"
#include "model/report.h"

namespace warpmark::report {

/// A kernel's or operator's name as it fits into a line: without "void", its tail cut.
[[nodiscard]] std::string short_name(std::string_view name);

/// `byte_digits` is for sizes, see format_bytes.
[[nodiscard]] std::string format_value(const TableValue& value, const std::string& unit, int byte_digits = 3);

/// Of the parts of a step: the estimated cost of recording.
inline constexpr std::string_view kRecordingPart = "idle_profiler";

/// "idle_data_loading" is "data loading". Of one process the ranks are GPUs.
[[nodiscard]] std::string part_name(std::string id, bool of_one_process = false);

/// The table's note, its first rows, and how many more there are. Names as they fit into a line, or whole.
[[nodiscard]] Section table_section(const AnalysisTable& table, std::size_t rows, bool whole_names = false);

/// What `--against` prints: how much faster or slower, what changed most, and the tables as sections.
[[nodiscard]] Report build_diff_report(const ProfileDifference& difference, std::size_t table_rows);

}  // namespace warpmark::report
