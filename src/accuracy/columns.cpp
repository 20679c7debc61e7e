#include "accuracy/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53

struct Number {
  double value = 0;
  bool whole = false;
};

/// A whole text that is a number, nan or inf, and that a double holds exactly if it is an integer.
std::optional<Number> number_of(const std::string& raw) {
  const std::string text(trim(raw));
  if (text.empty()) return std::nullopt;
  const char first = text[text[0] == '-' || text[0] == '+' ? 1 : 0];
  if (text.find_first_of("xXpP") != std::string::npos) return std::nullopt;  // strtod would take hexadecimal
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  const bool digits = is_digit(first);
  const bool whole = digits && text.find_first_of(".eE") == std::string::npos;
  if (whole && std::fabs(value) >= kLargestExact) return std::nullopt;
  return Number{value, whole};
}

Column column_of(std::string name, std::vector<std::string> texts) {
  Column column{.name = std::move(name), .whole = true, .numbers = {}, .texts = {}, .shape = {}};
  for (const auto& text : texts) {
    const auto number = number_of(text);
    if (!number) {
      column.numeric = column.whole = false;
      column.numbers.clear();
      break;
    }
    column.whole = column.whole && number->whole;
    column.numbers.push_back(number->value);
  }
  if (texts.empty()) column.numeric = false;
  if (!column.numeric) column.texts = std::move(texts);
  return column;
}

bool is_header(const std::vector<std::string>& row) {
  const auto is_number = [](const std::string& field) { return number_of(field).has_value(); };
  const auto has_fraction = [&](const std::string& field) {
    return is_number(field) && field.find('.') != std::string::npos;
  };
  return !std::ranges::all_of(row, is_number) && std::ranges::none_of(row, has_fraction);
}

}  // namespace

Result<Columns> parse_table(std::string_view text, char separator, std::string_view name) {
  WM_ASSIGN(auto rows, parse_csv(text, separator, name));
  if (rows.empty()) return data_error(fmt::format("{} is empty", name), "a table needs rows");
  if (!is_header(rows[0])) {
    std::vector<std::string> names;
    for (std::size_t c = 0; c < rows[0].size(); ++c) names.push_back(fmt::format("column {}", c + 1));
    rows.insert(rows.begin(), std::move(names));
  }
  Columns columns;
  std::vector<std::vector<std::string>> fields(rows[0].size());
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].size() != fields.size()) {
      return data_error(
          fmt::format("{} row {} has {} fields, the first {}", name, r + 1, rows[r].size(), fields.size()));
    }
    for (std::size_t c = 0; c < fields.size(); ++c) fields[c].push_back(std::move(rows[r][c]));
  }
  std::set<std::string> names;
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const bool is_new = names.insert(rows[0][c]).second;
    if (!is_new) return data_error(fmt::format("{} has two columns '{}'", name, rows[0][c]));
    columns.push_back(column_of(rows[0][c], std::move(fields[c])));
  }
  return columns;
}

Result<Columns> parse_json_columns(std::string_view text, std::string_view name) {
  WM_ASSIGN(const auto document, parse_json(text, name));
  struct Found {
    std::vector<std::string> texts;
    std::vector<std::int64_t> places;
  };
  std::vector<std::string> order;
  std::map<std::string, Found> found;
  std::vector<std::int64_t> place;  // in the lists that are open
  bool any = false;
  // Depth is bounded by the parser; elements of an array share the path of the array.
  const std::function<void(const Json&, const std::string&)> visit = [&](const Json& node, const std::string& path) {
    if (node.is_object() && !node.empty()) {
      for (const auto& [key, child] : node.items()) visit(child, path.empty() ? key : path + "." + key);
    } else if (node.is_array() && !node.empty()) {
      place.push_back(0);
      for (const auto& child : node) {
        visit(child, path + "[]");
        ++place.back();
      }
      place.pop_back();
    } else {
      if (!found.contains(path)) order.push_back(path);
      auto& values = found[path];
      values.texts.push_back(node.is_string() ? node.get<std::string>() : node.dump());  // an empty list is "[]"
      values.places.insert(values.places.end(), place.begin(), place.end());
      any = any || !node.is_structured();
    }
  };
  visit(document, "");
  if (!any) return data_error(fmt::format("{} holds no values", name));
  Columns columns;
  for (const auto& path : order) {
    columns.push_back(column_of(path, std::move(found[path].texts)));
    columns.back().places = std::move(found[path].places);
  }
  return columns;
}

Result<Columns> read_columns(const std::string& path) {
  constexpr std::int64_t kCapBytes = std::int64_t{8} << 30;
  using Parse = Result<Columns> (*)(std::string_view bytes, std::string_view name);
  static constexpr std::pair<const char*, Parse> kFormats[] = {
      {".csv", [](std::string_view bytes, std::string_view name) { return parse_table(bytes, ',', name); }},
      {".tsv", [](std::string_view bytes, std::string_view name) { return parse_table(bytes, '\t', name); }},
      {".txt",
       [](std::string_view bytes, std::string_view name) {
         const bool tabs = bytes.substr(0, bytes.find('\n')).find('\t') != std::string_view::npos;
         return parse_table(bytes, tabs ? '\t' : ',', name);
       }},
      {".json", parse_json_columns},
      {".npy", parse_npy},
      {".npz", parse_npz},
      {".safetensors", parse_safetensors}};
  for (const auto& [extension, parse] : kFormats) {
    if (!path.ends_with(extension)) continue;
    WM_ASSIGN(const auto bytes, read_file(path, kCapBytes));
    return parse(bytes, path);
  }
  return usage_error("the format of " + path + " is not known by its name",
                     "csv, tsv, txt (tabs or commas), json, npy, npz or safetensors");
}

namespace {

Result<std::map<std::string, std::size_t>> rows_by_key(const Columns& columns, const std::string& key,
                                                       const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == key; });
  if (found == columns.end()) return usage_error(name + " has no column '" + key + "', which --key names");
  std::map<std::string, std::size_t> rows;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const std::string text = found->numeric ? Json(found->numbers[i]).dump() : found->texts[i];
    if (!rows.emplace(text, i).second) return data_error(name + " has the key " + text + " twice");
  }
  return rows;
}

}  // namespace

std::string key_in_another_order(const Columns& reference, const Columns& out) {
  for (const auto& column : reference) {
    if (column.numeric && !column.whole) continue;
    const auto wanted = rows_by_key(reference, column.name, "");
    const auto rows = rows_by_key(out, column.name, "");
    const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (wanted.ok() && rows.ok() && *wanted != *rows && std::ranges::equal(*wanted, *rows, same_key))
      return column.name;
  }
  return {};
}

Status align_by_key(const Columns& reference, Columns& out, const std::string& key) {
  WM_ASSIGN(const auto wanted, rows_by_key(reference, key, "the reference"));
  WM_ASSIGN(const auto rows, rows_by_key(out, key, "the output"));
  std::vector<std::size_t> order(wanted.size());
  for (const auto& [text, at] : wanted) {
    const auto found = rows.find(text);
    if (found == rows.end()) return data_error("the output has no row with the key " + text);
    order[at] = found->second;
  }
  for (const auto& [text, at] : rows) {
    if (!wanted.contains(text)) return data_error("the reference has no row with the key " + text);
  }
  for (Column& column : out) {
    Column sorted = column;
    for (std::size_t i = 0; i < order.size() && column.size() == order.size(); ++i) {
      if (column.numeric) sorted.numbers[i] = column.numbers[order[i]];
      if (!column.numeric) sorted.texts[i] = column.texts[order[i]];
    }
    column = std::move(sorted);
  }
  return {};
}

}  // namespace warpmark::accuracy
