// Traces of requests: Mooncake, BurstGPT, Azure. See dataset.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "serving/traffic/dataset.h"

namespace warpmark::serving {
namespace {

/// "2023-11-16 18:17:03.9799600" as seconds since the Unix epoch.
std::optional<double> seconds_of_date(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) { return parse_integer(text.substr(at, size)); };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2), hour = number(11, 2),
             minute = number(14, 2);
  std::string_view rest = text.substr(17);
  rest = rest.substr(0, rest.find_first_of("+Z"));
  const auto second = parse_number(rest);
  if (!year.ok() || !month.ok() || !day.ok() || !hour.ok() || !minute.ok() || !second.ok()) return std::nullopt;
  // Days since the epoch of the civil calendar: Hinnant, chrono-Compatible Low-Level Date Algorithms.
  const std::int64_t y = *month <= 2 ? *year - 1 : *year, era = y / 400, yoe = y - era * 400;
  const std::int64_t doy = (153 * (*month + (*month > 2 ? -3 : 9)) + 2) / 5 + *day - 1;
  const std::int64_t days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
  return static_cast<double>(days * 86400 + *hour * 3600 + *minute * 60) + *second;
}

Result<Trace> mooncake(const std::string& path, const std::string& text, std::int64_t most) {
  Trace trace{.format = "Mooncake"};
  std::size_t number = 0;
  for (const auto& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    if (static_cast<std::int64_t>(trace.rows.size()) >= most) break;
    const std::string place = fmt::format("{}, line {}", path, number);
    WM_ASSIGN(const Json json, parse_json(line, place));
    const auto count = [&](const char* key) {
      const auto found = json.is_object() ? json.find(key) : json.end();
      return json.is_object() && found != json.end() && found->is_number() ? found->get<double>() : -1.0;
    };
    TraceRow row{.at_s = count("timestamp") / 1000};
    row.input_tokens = static_cast<std::int64_t>(std::min(count("input_length"), 1e8));
    row.output_tokens = static_cast<std::int64_t>(std::min(count("output_length"), 1e8));
    if (count("timestamp") < 0 || row.input_tokens < 1 || row.output_tokens < 0) {
      return data_error(place + ": needs timestamp, input_length and output_length");
    }
    if (const auto blocks = json.find("hash_ids"); blocks != json.end() && blocks->is_array()) {
      for (const auto& block : *blocks) {
        if (block.is_number_integer()) row.blocks.push_back(block.get<std::int64_t>());
      }
    }
    if (row.output_tokens == 0) {
      ++trace.left_out;
    } else {
      trace.rows.push_back(std::move(row));
    }
  }
  return trace;
}

struct Columns {
  const char* format;
  const char* time;
  const char* input;
  const char* output;
  bool date;
};
constexpr Columns kFormats[] = {{"BurstGPT", "Timestamp", "Request tokens", "Response tokens", false},
                                {"Azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", true}};

Result<TraceRow> csv_row(const std::vector<std::string>& fields, const std::array<std::size_t, 3>& at, bool date) {
  if (fields.size() <= std::max({at[0], at[1], at[2]})) return data_error("too few fields");
  TraceRow row;
  const auto number = parse_number(fields[at[0]]);
  const auto day = date ? seconds_of_date(fields[at[0]]) : std::nullopt;
  const auto input = parse_number(fields[at[1]]), output = parse_number(fields[at[2]]);
  if (!(day || number.ok()) || !input.ok() || !output.ok() || *input < 0 || *output < 0 || *input > 1e8 ||
      *output > 1e8) {
    return data_error("no time and counts of tokens");
  }
  row.at_s = day ? *day : *number;
  row.input_tokens = std::max<std::int64_t>(1, std::llround(*input));
  row.output_tokens = std::llround(*output);
  return row;
}

Result<Trace> csv_trace(const std::string& path, const std::string& text, std::int64_t most) {
  CsvRows rows(text, ',');
  std::vector<std::string> fields;
  WM_ASSIGN(const std::size_t count, rows.next(fields));
  fields.resize(std::min(fields.size(), count));
  for (const auto& format : kFormats) {
    std::array<std::size_t, 3> at{};
    bool all = true;
    const char* names[] = {format.time, format.input, format.output};
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto found =
          std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return trim(field) == names[i]; });
      all = all && found != fields.end();
      at[i] = static_cast<std::size_t>(found - fields.begin());
    }
    if (!all) continue;
    Trace trace{.format = format.format};
    for (std::size_t number = 2; static_cast<std::int64_t>(trace.rows.size()) < most; ++number) {
      WM_ASSIGN(const std::size_t size, rows.next(fields));
      if (size == 0) break;
      fields.resize(size);
      auto row = csv_row(fields, at, format.date);
      if (!row.ok()) return data_error(fmt::format("{}, row {}: {}", path, number, row.error().what));
      if (row->output_tokens == 0) {
        ++trace.left_out;
      } else {
        trace.rows.push_back(std::move(*row));
      }
    }
    return trace;
  }
  return data_error(
      path + " is no trace that is known",
      "Mooncake (.jsonl: timestamp, input_length, output_length), BurstGPT (.csv: Timestamp, Request tokens, "
      "Response tokens), Azure (.csv: TIMESTAMP, ContextTokens, GeneratedTokens)");
}

}  // namespace

Result<Trace> read_trace(const std::string& path, std::int64_t most_rows) {
  WM_ASSIGN(const std::string text, read_file(path, std::int64_t{4} << 30));
  const bool json = !trim(text).empty() && trim(text).front() == '{';
  auto read = json ? mooncake(path, text, most_rows) : csv_trace(path, text, most_rows);
  if (!read.ok()) return read.error();
  Trace trace = std::move(*read);
  if (trace.rows.empty()) return data_error(path + " holds no request");
  std::stable_sort(trace.rows.begin(), trace.rows.end(), [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  const double first = trace.rows.front().at_s;
  for (auto& row : trace.rows) row.at_s -= first;
  return trace;
}

}  // namespace warpmark::serving
