#include "accuracy/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "stats/error_norm.h"

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

const double kInfinity = std::numeric_limits<double>::infinity();

/// The first one of each name: a file may have 100,000s.
std::unordered_map<std::string_view, const Column*> by_name(const Columns& columns) {
  std::unordered_map<std::string_view, const Column*> named;
  for (const auto& column : columns) named.emplace(column.name, &column);
  return named;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

bool must_be_exact(const std::string& name, const AllcloseOptions& options) {
  return std::any_of(options.exact.begin(), options.exact.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

/// `whole`: integers on both sides, which are keys, labels or counts, and no results of rounding.
Tolerance tolerance_of(const std::string& name, bool whole, const AllcloseOptions& options) {
  Tolerance tolerance = whole || must_be_exact(name, options) ? Tolerance{0, 0} : options.tolerance;
  for (const auto& [glob, own] : options.by_column) {
    if (glob_match(glob, name)) tolerance = own;
  }
  return tolerance;
}

/// Difference over what is allowed: at most 1 passes.
double excess_of(double out, double reference, const Tolerance& tolerance, bool equal_nan) {
  if (std::isnan(out) || std::isnan(reference)) {
    return equal_nan && std::isnan(out) && std::isnan(reference) ? 0 : kInfinity;
  }
  if (out == reference) return 0;
  if (std::isinf(out) || std::isinf(reference)) return kInfinity;
  const double allowed = tolerance.absolute + tolerance.relative * std::fabs(reference);
  return allowed > 0 ? std::fabs(out - reference) / allowed : kInfinity;
}

class Offenders {
 public:
  explicit Offenders(std::size_t most) : most_(most) {}
  void add(Offender offender) {
    // Sorted, the worst first; equally bad ones in the order found.
    const auto place = std::upper_bound(worst_.begin(), worst_.end(), offender,
                                        [](const Offender& a, const Offender& b) { return a.excess > b.excess; });
    if (static_cast<std::size_t>(place - worst_.begin()) >= most_) return;
    worst_.insert(place, std::move(offender));
    if (worst_.size() > most_) worst_.pop_back();
  }
  std::vector<Offender> take() { return std::move(worst_); }

 private:
  std::size_t most_;
  std::vector<Offender> worst_;
};

void compare_numbers(const Column& reference, const Column& out, const AllcloseOptions& options, ColumnResult& result) {
  const bool whole = reference.whole && out.whole;
  const Tolerance tolerance = tolerance_of(reference.name, whole, options);
  Offenders offenders(options.most_offenders);
  stats::ErrorNorm norm;
  for (std::size_t i = 0; i < reference.numbers.size(); ++i) {
    const double expected = reference.numbers[i], got = out.numbers[i];
    norm.add(got, expected);
    // Two finite numbers may differ by more than a number can be.
    const double difference = std::isfinite(got) && std::isfinite(expected)
                                  ? std::min(std::fabs(got - expected), std::numeric_limits<double>::max())
                                  : kInfinity;
    if (std::isfinite(difference)) {
      result.max_absolute = std::max(result.max_absolute, difference);
      const double relative = expected == 0 ? 0 : difference / std::fabs(expected);
      result.max_relative = std::max(result.max_relative, std::min(relative, std::numeric_limits<double>::max()));
    }
    const double excess = excess_of(got, expected, tolerance, options.equal_nan);
    if (excess <= 1) continue;
    ++result.mismatches;
    offenders.add({static_cast<std::int64_t>(i), fmt::format("{}", expected), fmt::format("{}", got), excess});
  }
  result.whole = whole && result.mismatches > 0 && tolerance.relative == 0 && tolerance.absolute == 0 &&
                 !must_be_exact(reference.name, options);
  result.relative_error = reference.numbers.empty() ? 0 : norm.value();
  result.offenders = offenders.take();
}

void compare_texts(const Column& reference, const Column& out, const AllcloseOptions& options, ColumnResult& result) {
  Offenders offenders(options.most_offenders);
  for (std::size_t i = 0; i < reference.texts.size(); ++i) {
    if (reference.texts[i] == out.texts[i]) continue;
    ++result.mismatches;
    offenders.add({static_cast<std::int64_t>(i), reference.texts[i], out.texts[i], kInfinity});
  }
  result.offenders = offenders.take();
}

ColumnResult compare_column(const Column& reference, const Column* out, const AllcloseOptions& options) {
  ColumnResult result{
      .name = reference.name, .n = static_cast<std::int64_t>(reference.size()), .problem = {}, .offenders = {}};
  if (out == nullptr) {
    result.problem = "missing in the output";
  } else if (reference.shape != out->shape) {
    result.problem = fmt::format("the shape is {}, must be {}", shape_text(out->shape), shape_text(reference.shape));
  } else if (reference.size() != out->size()) {
    result.problem = fmt::format("there are {} values, must be {}", out->size(), reference.size());
  } else if (reference.places != out->places) {
    result.problem = "its values stand at other places in the lists";
  } else if (reference.numeric != out->numeric) {
    result.problem = reference.numeric ? "there are texts, must be numbers" : "there are numbers, must be texts";
  } else if (reference.numeric) {
    compare_numbers(reference, *out, options, result);
  } else {
    compare_texts(reference, *out, options, result);
  }
  return result;
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

std::vector<ColumnResult> allclose(const Columns& reference, const Columns& out, const AllcloseOptions& options) {
  const auto wanted = by_name(reference), given = by_name(out);
  std::vector<ColumnResult> results;
  for (const auto& column : reference) {
    const auto found = given.find(column.name);
    results.push_back(compare_column(column, found == given.end() ? nullptr : found->second, options));
  }
  for (const auto& column : out) {
    if (wanted.contains(column.name)) continue;
    results.push_back({.name = column.name, .problem = "missing in the reference", .offenders = {}});
  }
  return results;
}

}  // namespace warpmark::accuracy
