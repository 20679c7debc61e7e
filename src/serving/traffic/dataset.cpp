#include "serving/traffic/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

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

}  // namespace

Result<std::vector<DatasetRow>> read_dataset(const std::string& path, const DatasetOptions& options) {
  WM_ASSIGN(const std::string text, read_file(path, std::int64_t{4} << 30));
  WM_ASSIGN(auto rows, rows_of(path, text, options));
  if (rows.empty()) return data_error(path + " holds no prompt", "data sets: .txt, .jsonl, .csv, and ShareGPT's .json");
  return rows;
}

}  // namespace warpmark::serving
