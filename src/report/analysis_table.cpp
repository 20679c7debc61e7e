#include "report/analysis_table.h"

#include <algorithm>

#include "report/format.h"

namespace warpmark::report {
namespace {

/// Names of kernels run to hundreds of characters; what tells them apart stands at the front.
constexpr std::size_t kLongestName = 60;

}  // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.size() <= kLongestName) return std::string(name);
  std::size_t end = kLongestName - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // not inside a UTF-8 character
  return std::string(name.substr(0, end)) + "...";
}

std::string format_value(const TableValue& value, const std::string& unit) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value); whole != nullptr && unit.empty()) {
    return format_count(*whole);
  }
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (unit == "s") return format_seconds(number);
  if (unit == "B") return format_bytes(number);
  if (unit == "ratio") return format_percent(number);
  return unit.empty() ? format_significant(number, 3) : format_si(number, unit);
}

Section table_section(const AnalysisTable& table, std::size_t rows) {
  Section section{table.title, {}, true};
  if (!table.note.empty()) section.blocks.push_back(Paragraph{table.note, Tone::quiet});
  if (table.rows.empty()) return section;
  Table shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool is_text = std::holds_alternative<std::string>(table.rows.front()[c]);
    // Where there is no room, the last columns go first.
    const int optional = c < 3 ? 0 : static_cast<int>(c);
    shown.columns.push_back({table.columns[c].title, is_text ? Align::left : Align::right, optional});
  }
  for (std::size_t r = 0; r < std::min(rows, table.rows.size()); ++r) {
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      cells.push_back({short_name(format_value(table.rows[r][c], table.columns[c].unit))});
    }
    shown.rows.push_back(std::move(cells));
  }
  section.blocks.push_back(std::move(shown));
  if (table.rows.size() > rows) {
    const auto more = format_plural(table.rows.size() - rows, "row more", "rows more");
    section.blocks.push_back(Paragraph{"... " + more + "; all are in the JSON.", Tone::quiet});
  }
  return section;
}

}  // namespace warpmark::report
