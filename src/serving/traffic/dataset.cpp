#include "serving/traffic/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::serving {
namespace {

Error in_line(const std::string& path, std::size_t line, const std::string& what) {
  return data_error(fmt::format("{}, line {}: {}", path, line, what));
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t count_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? std::max<std::int64_t>(found->get<std::int64_t>(), 0) : 0;
}

/// In OpenAI's words; empty for what is none of them.
std::string role_of(const Json& turn) {
  const std::string from = ascii_lower(text_at(turn, "from") + text_at(turn, "role"));
  if (from == "human" || from == "user") return "user";
  if (from == "gpt" || from == "assistant" || from == "chatgpt" || from == "bard" || from == "bing") return "assistant";
  return from == "system" || from == "developer" ? "system" : "";
}

std::string text_of(const Json& turn) { return text_at(turn, "value") + text_at(turn, "content"); }

/// How many tokens are asked for, in the words of the formats.
std::int64_t output_tokens_of(const Json& json) {
  for (const char* key :
       {"output_tokens", "max_tokens", "max_completion_tokens", "max_output_tokens", "output_length"}) {
    if (const std::int64_t count = count_at(json, key); count > 0) return count;
  }
  return 0;
}

/// Questions and answers in turn, from the first question on.
std::vector<std::string> turns_of(const Json& conversation) {
  std::vector<std::string> turns;
  for (const auto& turn : conversation) {
    if (!turn.is_object()) continue;
    const std::string text = text_of(turn), role = role_of(turn);
    const char* next = turns.size() % 2 == 0 ? "user" : "assistant";
    if (!text.empty() && role == next) turns.push_back(text);
  }
  return turns;
}

Result<std::vector<DatasetRow>> sharegpt_rows(const Json& json, std::int64_t most) {
  std::vector<DatasetRow> rows;
  for (const auto& item : json) {
    if (static_cast<std::int64_t>(rows.size()) >= most) break;
    const auto found = item.is_object() ? item.find("conversations") : item.end();
    if (!item.is_object() || found == item.end() || !found->is_array()) continue;
    DatasetRow row{.turns = turns_of(*found)};
    if (row.turns.size() < 2) continue;
    for (const auto& turn : *found) {  // what the system says, whatever comes before the first question
      if (turn.is_object() && role_of(turn) == "user") break;
      if (turn.is_object() && role_of(turn) == "system") row.messages.push_back({"system", text_of(turn)});
    }
    row.messages.push_back({"user", row.turns.front()});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<DatasetRow> row_of(const Json& json) {
  DatasetRow row{.output_tokens = output_tokens_of(json)};
  if (json.contains("model") && (json.contains("messages") || json.contains("prompt") || json.contains("input"))) {
    row.body = dump_json(json, -1);
    return row;
  }
  if (const auto messages = json.find("messages"); messages != json.end() && messages->is_array()) {
    for (const auto& message : *messages) {
      if (!message.is_object()) return std::nullopt;
      if (const auto content = message.find("content"); content != message.end() && !content->is_string()) {
        row.body = dump_json(json, -1);  // pictures, calls of tools: as it is
        row.messages.clear();
        return row;
      }
      row.messages.push_back({text_at(message, "role"), text_at(message, "content")});
    }
  } else if (const std::string prompt = text_at(json, "prompt"); !prompt.empty()) {
    row.messages.push_back({"user", prompt});
  }
  if (row.messages.empty()) return std::nullopt;
  return row;
}

Result<std::vector<DatasetRow>> json_line_rows(const std::string& path, const std::string& text, std::int64_t most) {
  std::vector<DatasetRow> rows;
  std::size_t number = 0;
  for (const auto& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    if (static_cast<std::int64_t>(rows.size()) >= most) break;
    const auto json = parse_json(line, fmt::format("{}, line {}", path, number));
    if (!json.ok()) return json.error();
    auto row = json->is_object() ? row_of(*json) : std::nullopt;
    if (!row) return in_line(path, number, "neither \"prompt\" nor \"messages\" nor a request body");
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<std::vector<DatasetRow>> csv_rows(const std::string& path, const std::string& text,
                                         const DatasetOptions& options) {
  WM_ASSIGN(const auto table, parse_csv(text, ',', path));
  std::vector<DatasetRow> rows;
  if (table.empty()) return rows;
  const auto column = std::find(table[0].begin(), table[0].end(), options.column);
  if (column == table[0].end()) {
    return data_error(fmt::format("{} has no column '{}'", path, options.column),
                      "it has: " + join(table[0], ", ") + "; --dataset-prompt-column names one");
  }
  const auto at = static_cast<std::size_t>(column - table[0].begin());
  for (std::size_t i = 1; i < table.size() && static_cast<std::int64_t>(rows.size()) < options.most_rows; ++i) {
    if (at < table[i].size() && !table[i][at].empty()) rows.push_back({.messages = {{"user", table[i][at]}}});
  }
  return rows;
}

Result<std::vector<DatasetRow>> rows_of(const std::string& path, const std::string& text,
                                        const DatasetOptions& options) {
  if (path.ends_with(".jsonl")) return json_line_rows(path, text, options.most_rows);
  if (path.ends_with(".csv")) return csv_rows(path, text, options);
  if (path.ends_with(".json")) {
    WM_ASSIGN(const Json json, parse_json(text, path));
    if (!json.is_array())
      return data_error(path + " is no list of conversations", "ShareGPT: [{\"conversations\": [...]}]");
    return sharegpt_rows(json, options.most_rows);
  }
  std::vector<DatasetRow> rows;
  for (const auto& line : split(text, '\n')) {
    const auto prompt = trim(line);
    if (prompt.empty() || static_cast<std::int64_t>(rows.size()) >= options.most_rows) continue;
    rows.push_back({.messages = {{"user", std::string(prompt)}}});
  }
  return rows;
}

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

Result<std::vector<DatasetRow>> read_dataset(const std::string& path, const DatasetOptions& options) {
  WM_ASSIGN(const std::string text, read_file(path, std::int64_t{4} << 30));
  WM_ASSIGN(auto rows, rows_of(path, text, options));
  if (rows.empty()) return data_error(path + " holds no prompt", "data sets: .txt, .jsonl, .csv, and ShareGPT's .json");
  return rows;
}

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
