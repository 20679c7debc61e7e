// Records out of files.
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/scoring/examples.h"
#include "accuracy/text/unicode.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/lines/line_file.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

constexpr std::int64_t kMostRecordBytes = std::int64_t{4} << 30;
constexpr const char* kIdNames[] = {"id", "_id", "qid", "question_id", "task_id", "idx", "index"};
constexpr const char* kReferenceNames[] = {"references",  "reference", "answers", "answer", "targets",
                                           "target",      "gold",      "label",   "labels", "summary",
                                           "translation", "rating",    "ratings", "score"};
constexpr const char* kOutputNames[] = {"output",     "prediction",     "response",        "answer",
                                        "completion", "generated_text", "prediction_text", "text",
                                        "label",      "score",          "choice",          "passed"};

template <std::size_t N>
const Json* first_of(const Json& object, const std::string& named, const char* const (&usual)[N]) {
  if (!named.empty()) {
    const auto found = object.find(named);
    return found == object.end() ? nullptr : &*found;
  }
  for (const char* name : usual) {
    const auto found = object.find(name);
    if (found != object.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

std::string keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return join(keys, ", ");
}

/// Several references become one Json list in the fields; the text is the first.
Result<Record> record_of(Json object, const std::string& where, Side side, const FieldNames& names) {
  Record record;
  if (object.is_string()) {
    record.text = object.get<std::string>();
    record.has_text = true;
    return record;
  }
  if (!object.is_object()) return data_error(where + " is neither an object nor a text");
  if (const Json* id = first_of(object, names.id, kIdNames); id != nullptr) record.id = field_text(*id);
  const auto& named = side == Side::reference ? names.reference : names.output;
  const Json* text =
      side == Side::reference ? first_of(object, named, kReferenceNames) : first_of(object, named, kOutputNames);
  if (text == nullptr && !named.empty()) {
    return data_error(fmt::format("{} has no field '{}'", where, named), "it has: " + keys_of(object));
  }
  if (text != nullptr) {
    record.has_text = true;
    record.text = text->is_array() ? (text->empty() ? "" : field_text(text->front())) : field_text(*text);
  }
  const auto problem = object.find("problem");
  if (problem != object.end() && problem->is_string()) record.problem = problem->get<std::string>();
  const auto embedding = object.find("embedding");
  if (embedding != object.end() && embedding->is_array()) {
    for (const auto& value : *embedding) {
      if (!value.is_number()) return data_error(where + ": its embedding is no list of numbers");
      record.embedding.push_back(value.get<double>());
    }
  }
  record.fields = std::move(object);
  return record;
}

using Records = std::vector<Record>;

Result<Records> text_records(std::string_view bytes) {
  Records records;
  while (!bytes.empty()) {
    std::string_view line = take_line(bytes);
    if (line.ends_with('\r')) line.remove_suffix(1);
    Record record{.text = std::string(line), .has_text = true};
    if (!is_utf8(line)) {
      record.text = cleaned_utf8(line);
      record.problem = "is no UTF-8";
    }
    records.push_back(std::move(record));
  }
  return records;
}

Result<Records> json_lines_records(std::string_view bytes, const std::string& path, Side side,
                                   const FieldNames& names) {
  Records records;
  WM_TRY(each_filled_line(bytes, path, [&](std::string_view line, const std::string& where) -> Status {
    const bool damaged = side == Side::output && !is_utf8(line);
    WM_ASSIGN(Json object, parse_json(damaged ? cleaned_utf8(line) : std::string(line), where));
    WM_ASSIGN(auto record, record_of(std::move(object), where, side, names));
    if (damaged && record.problem.empty()) record.problem = "is no UTF-8";
    records.push_back(std::move(record));
    return {};
  }));
  return records;
}

Result<Records> json_records(std::string_view bytes, const std::string& path, Side side, const FieldNames& names) {
  WM_ASSIGN(Json document, parse_json(bytes, path));
  if (document.is_object() && document.size() == 1 && document.front().is_array()) document = Json(document.front());
  Records records;
  if (document.is_object()) {  // answers by id
    for (auto& [id, value] : document.items()) {
      Record record{.id = id, .text = value.is_object() ? "" : field_text(value), .has_text = !value.is_object()};
      if (value.is_object()) {
        WM_ASSIGN(record, record_of(value, path + " " + id, side, names));
        record.id = id;
      } else {
        record.fields = Json{{"output", value}};
      }
      records.push_back(std::move(record));
    }
    return records;
  }
  if (!document.is_array()) return data_error(path + " is neither a list nor an object of answers by id");
  for (std::size_t i = 0; i < document.size(); ++i) {
    WM_ASSIGN(auto record, record_of(std::move(document[i]), fmt::format("{} item {}", path, i + 1), side, names));
    records.push_back(std::move(record));
  }
  return records;
}

Result<Records> table_records(std::string_view bytes, char separator, const std::string& path, Side side,
                              const FieldNames& names) {
  WM_ASSIGN(const auto rows, parse_csv(bytes, separator, path));
  if (rows.empty()) return data_error(path + " is empty", "a table needs a header line");
  Records records;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].size() != rows[0].size()) {
      return data_error(
          fmt::format("{} row {} has {} fields, the header {}", path, r + 1, rows[r].size(), rows[0].size()));
    }
    Json object = Json::object();
    bool damaged = false;
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      damaged = damaged || !is_utf8(rows[r][c]);
      object[cleaned_utf8(rows[0][c])] = cleaned_utf8(rows[r][c]);
    }
    WM_ASSIGN(auto record, record_of(std::move(object), fmt::format("{} row {}", path, r + 1), side, names));
    if (damaged) record.problem = "is no UTF-8";
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::string field_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  if (value.is_object() && value.contains("text")) {  // SQuAD's answers: {"text": [...], "answer_start": [...]}
    const Json& text = value["text"];
    return text.is_array() ? (text.empty() ? "" : field_text(text.front())) : field_text(text);
  }
  return dump_json(value, -1);
}

Result<std::vector<Record>> parse_records(std::string_view bytes, const std::string& path, Side side,
                                          const FieldNames& names) {
  bytes = without_byte_order_mark(bytes);
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return json_lines_records(bytes, path, side, names);
  if (path.ends_with(".json")) return json_records(bytes, path, side, names);
  if (path.ends_with(".csv")) return table_records(bytes, ',', path, side, names);
  if (path.ends_with(".tsv")) return table_records(bytes, '\t', path, side, names);
  if (path.ends_with(".npy")) return npy_records(bytes, path);
  if (path.ends_with(".safetensors")) {
    return safetensors_records(bytes, path, side == Side::reference ? names.reference : names.output);
  }
  return text_records(bytes);
}

Result<std::vector<Record>> read_records(const std::string& path, Side side, const FieldNames& names) {
  WM_ASSIGN(const auto bytes, read_file(path, kMostRecordBytes));
  return parse_records(bytes, path, side, names);
}

}  // namespace warpmark::accuracy
