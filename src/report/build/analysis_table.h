// An AnalysisTable as a table of a report: values in their columns' units.
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

/// The table's note, its first rows, and how many more there are.
[[nodiscard]] Section table_section(const AnalysisTable& table, std::size_t rows);

}  // namespace warpmark::report
