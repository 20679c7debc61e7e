#include "report/analysis_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "report/format.h"

namespace warpmark::report {
namespace {

/// Names of kernels run to hundreds of characters; what tells them apart stands at the front.
constexpr std::size_t kLongestName = 60;

/// A size as it is read: "64 MiB" told exactly is the same as "64.0 MiB" of one that was rounded.
std::string as_read(double bytes, int digits) {
  const std::string text = format_bytes(bytes, digits);
  return fmt::format("{}{}", std::strtod(text.c_str(), nullptr), text.substr(text.rfind(' ')));
}

/// As many digits as tell apart rows that only their sizes differ in: one bucket of gradients may be larger than the
/// next by a bias.
int byte_digits_of(const AnalysisTable& table, std::size_t column, std::size_t rows) {
  constexpr int kFewest = 3, kMost = 6;
  if (table.columns[column].unit != "B") return kFewest;
  const auto tells_apart = [&](int digits) {
    std::map<std::string, double> sizes;
    for (std::size_t r = 0; r < rows; ++r) {
      std::string key;
      for (const auto& value : table.rows[r]) {
        if (const auto* text = std::get_if<std::string>(&value)) key += *text + '\n';
      }
      const auto* bytes = std::get_if<double>(&table.rows[r][column]);
      if (bytes == nullptr) continue;
      const auto [known, added] = sizes.emplace(key + as_read(*bytes, digits), *bytes);
      if (!added && known->second != *bytes) return false;
    }
    return true;
  };
  int digits = kFewest;
  while (digits < kMost && !tells_apart(digits)) ++digits;
  return digits;
}

}  // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.size() <= kLongestName) return std::string(name);
  std::size_t end = kLongestName - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // not inside a UTF-8 character
  return std::string(name.substr(0, end)) + "...";
}

std::string format_value(const TableValue& value, const std::string& unit, int byte_digits) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value); whole != nullptr && unit.empty()) {
    return format_count(*whole);
  }
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (unit == "s") return format_seconds(number);
  if (unit == "B") return format_bytes(number, byte_digits);
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
  std::vector<int> digits;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    digits.push_back(byte_digits_of(table, c, std::min(rows, table.rows.size())));
  for (std::size_t r = 0; r < std::min(rows, table.rows.size()); ++r) {
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      cells.push_back({short_name(format_value(table.rows[r][c], table.columns[c].unit, digits[c]))});
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
