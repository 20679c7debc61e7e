#include "warpmark/profiles/analyze_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/json.h"
#include "base/units.h"
#include "profile/query.h"
#include "report/draw/table.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

std::string text_of(const profile::QueryValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.9g}", *number);
  return "NULL";
}

Json json_of(const profile::QueryValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return nullptr;
}

/// Columns as keys of an object: a name that comes again gets a number, as each would take the other's place.
std::vector<std::string> keys_of(const std::vector<std::string>& columns) {
  std::vector<std::string> keys;
  for (const auto& column : columns) {
    std::string key = column;
    for (int number = 2; std::find(keys.begin(), keys.end(), key) != keys.end(); ++number) {
      key = fmt::format("{}_{}", column, number);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string json_rows(const profile::QueryResult& result) {
  const auto keys = keys_of(result.columns);
  Json rows = Json::array();
  for (const auto& row : result.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < keys.size(); ++i) object[keys[i]] = json_of(row[i]);
    rows.push_back(std::move(object));
  }
  const Json answer{
      {"rows", std::move(rows)}, {"rows_left_out", result.left_out}, {"all_rows_counted", result.all_counted}};
  return dump_json(answer, 1) + "\n";
}

}  // namespace

Result<int> print_query(Context& context, const ProfileSession& session, const ParsedOptions& options) {
  profile::QueryOptions limits;
  if (options.has("--max-rows")) {
    WM_ASSIGN(const auto rows, parse_integer(options.get("--max-rows")));
    if (rows < 1) return usage_error("--max-rows must be at least 1");
    limits.most_rows = static_cast<std::size_t>(rows);
  }
  if (options.has("--max-bytes")) {
    WM_ASSIGN(limits.most_bytes, parse_bytes(options.get("--max-bytes")));
  }
  const auto format = options.get("--format", "text");
  WM_ASSIGN(const auto result, profile::query_session(session, options.get("--query"), limits));
  if (format == "json") {
    context.out << json_rows(result);
    return kSuccess;
  }
  if (format != "text") return usage_error("--query prints text or json, not '" + format + "'");
  Table table;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const bool is_text = result.rows.empty() || std::holds_alternative<std::string>(result.rows.front()[i]);
    table.columns.push_back({result.columns[i], is_text ? Align::left : Align::right});
  }
  for (const auto& row : result.rows) {
    std::vector<Cell> cells;
    for (const auto& value : row) cells.push_back({text_of(value)});
    table.rows.push_back(std::move(cells));
  }
  context.out << report::render_table(table, render_options(context));
  if (result.left_out > 0) {
    context.err << fmt::format("warpmark: {}{} more rows; --max-rows N shows more\n",
                               result.all_counted ? "" : "at least ", result.left_out);
  }
  return kSuccess;
}

}  // namespace warpmark::apps
