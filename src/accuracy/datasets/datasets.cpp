#include "accuracy/datasets/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "accuracy/choice/choice.h"
#include "accuracy/text/unicode.h"
#include "base/csv.h"
#include "base/lines/line_file.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

using Dataset = Result<std::vector<Record>>;

Record dataset_record(std::string id, std::string reference, Json fields) {
  return {.id = std::move(id), .text = std::move(reference), .has_text = true, .fields = std::move(fields)};
}

Error no_such_part(const std::string& path, const std::string& what, const char* format) {
  return data_error(path + " " + what, fmt::format("is it a file of {}?", format));
}

/// A text in an object; empty where there is none.
std::string text_in(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? field_text(object[name]) : "";
}

Dataset squad(std::string_view bytes, const std::string& path) {
  WM_ASSIGN(const Json document, parse_json(bytes, path));
  if (!document.is_object() || !document.contains("data") || !document["data"].is_array()) {
    return no_such_part(path, "has no list 'data'", "SQuAD");
  }
  std::vector<Record> records;
  std::size_t paragraph_number = 0;
  for (const auto& article : document["data"]) {
    if (!article.is_object() || !article.contains("paragraphs") || !article["paragraphs"].is_array()) {
      return no_such_part(path, "has an article without 'paragraphs'", "SQuAD");
    }
    for (const auto& paragraph : article["paragraphs"]) {
      ++paragraph_number;
      if (!paragraph.is_object() || !paragraph.contains("qas") || !paragraph["qas"].is_array()) {
        return no_such_part(path, fmt::format("paragraph {} has no list 'qas'", paragraph_number), "SQuAD");
      }
      for (const auto& question : paragraph["qas"]) {
        Json gold = Json::array();
        if (question.is_object() && question.contains("answers") && question["answers"].is_array()) {
          for (const auto& answer : question["answers"]) gold.push_back(text_in(answer, "text"));
        }
        if (gold.empty()) gold.push_back("");  // unanswerable
        const std::string first = gold.front().get<std::string>();
        records.push_back(dataset_record(text_in(question, "id"), first,
                                         Json{{"question", text_in(question, "question")},
                                              {"context", text_in(paragraph, "context")},
                                              {"title", text_in(article, "title")},
                                              {"references", gold},
                                              {"group", fmt::format("paragraph {}", paragraph_number)}}));
        if (records.back().id.empty()) return no_such_part(path, "has a question without 'id'", "SQuAD");
      }
    }
  }
  return records;
}

bool is_mmlu_row(const std::vector<std::string>& row) {
  return row.size() == 6 && row[5].size() == 1 && row[5][0] >= 'A' && row[5][0] <= 'D';
}

Dataset mmlu(std::string_view bytes, const std::string& path) {
  WM_ASSIGN(const auto rows, parse_csv(bytes, ',', path));
  std::string subject = std::filesystem::path(path).stem().string();
  for (const std::string_view split_name : {"_test", "_val", "_dev"}) {
    if (subject.ends_with(split_name)) subject.resize(subject.size() - split_name.size());
  }
  std::vector<Record> records;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r];
    if (!is_mmlu_row(row)) {
      return no_such_part(path, fmt::format("row {} is not question, four choices and a letter", r + 1), "MMLU");
    }
    records.push_back(dataset_record(fmt::format("{}/{}", subject, r), row[5],
                                     Json{{"question", row[0]},
                                          {"choices", {row[1], row[2], row[3], row[4]}},
                                          {"subject", subject},
                                          {"answer", row[5]}}));
  }
  return records;
}

/// Each line of a file of objects.
template <typename Use>
Dataset json_lines(std::string_view bytes, const std::string& path, Use use) {
  std::vector<Record> records;
  WM_TRY(each_filled_line(bytes, path, [&](std::string_view line, const std::string& where) -> Status {
    WM_ASSIGN(Json object, parse_json(line, where));
    WM_ASSIGN(auto record, use(std::move(object), where, records.size()));
    records.push_back(std::move(record));
    return {};
  }));
  return records;
}

Dataset humaneval(std::string_view bytes, const std::string& path) {
  return json_lines(bytes, path, [](Json object, const std::string& where, std::size_t) -> Result<Record> {
    for (const char* needed : {"task_id", "prompt", "test", "entry_point"}) {
      if (text_in(object, needed).empty()) return no_such_part(where, fmt::format("has no '{}'", needed), "HumanEval");
    }
    std::string id = text_in(object, "task_id"), solution = text_in(object, "canonical_solution");
    return dataset_record(std::move(id), std::move(solution), std::move(object));
  });
}

Dataset gsm8k(std::string_view bytes, const std::string& path) {
  return json_lines(bytes, path, [](Json object, const std::string& where, std::size_t place) -> Result<Record> {
    const std::string answer = gsm8k_strict(text_in(object, "answer"));
    if (text_in(object, "question").empty() || answer == kInvalidAnswer) {
      return no_such_part(where, "has no 'question', or no number after '#### ' in 'answer'", "GSM8K");
    }
    object["references"] = Json::array({gsm8k_normalized(answer)});
    const std::string own = text_in(object, "id");
    return dataset_record(own.empty() ? std::to_string(place) : own, gsm8k_normalized(answer), std::move(object));
  });
}

/// GLUE quotes nothing: a quote is a character like any other.
std::vector<std::vector<std::string>> tab_separated(std::string_view bytes) {
  std::vector<std::vector<std::string>> rows;
  while (!bytes.empty()) {
    std::string_view line = take_line(bytes);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    std::vector<std::string> fields;
    for (std::size_t at = 0;;) {
      const auto tab = line.find('\t', at);
      fields.emplace_back(line.substr(at, tab == std::string_view::npos ? tab : tab - at));
      if (tab == std::string_view::npos) break;
      at = tab + 1;
    }
    rows.push_back(std::move(fields));
  }
  return rows;
}

std::vector<std::string>::iterator glue_label(std::vector<std::string>& header) {
  for (const auto* name : {"gold_label", "label", "score", "is_duplicate", "Quality"}) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return found;
  }
  return header.end();
}

bool looks_like_cola(const std::vector<std::string>& row) {
  return row.size() == 4 && (row[1] == "0" || row[1] == "1") && (row[2].empty() || row[2] == "*");
}

/// Columns that GLUE's sets have next to the label, so that other tables with a label are not taken for one.
bool looks_like_glue(std::string_view head) {
  auto rows = tab_separated(head);
  if (rows.empty()) return false;
  if (looks_like_cola(rows.front())) return true;
  if (glue_label(rows.front()) == rows.front().end()) return false;
  constexpr std::string_view kTexts[] = {"sentence",  "sentence1", "sentence2", "question",
                                         "question1", "question2", "premise",   "#1 String"};
  return std::any_of(rows.front().begin(), rows.front().end(), [&](const std::string& name) {
    return std::find(std::begin(kTexts), std::end(kTexts), name) != std::end(kTexts);
  });
}

Dataset glue(std::string_view bytes, const std::string& path) {
  auto rows = tab_separated(bytes);
  if (rows.empty()) return no_such_part(path, "is empty", "GLUE");
  std::vector<std::string> header = rows.front();
  auto label = glue_label(header);
  const bool is_cola = label == header.end() && looks_like_cola(header);
  if (is_cola) {
    header = {"source", "label", "mark", "sentence"};
    label = header.begin() + 1;
  } else if (label == header.end()) {
    return no_such_part(path, "has no column of labels; columns: " + join(header, ", "), "GLUE's labelled sets");
  } else {
    rows.erase(rows.begin());
  }
  const auto column = static_cast<std::size_t>(label - header.begin());
  std::vector<Record> records;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].size() != header.size()) {
      return no_such_part(
          path, fmt::format("row {} has {} fields, the header {}", r + 1, rows[r].size(), header.size()), "GLUE");
    }
    Json fields = Json::object();
    for (std::size_t c = 0; c < header.size(); ++c) fields[cleaned_utf8(header[c])] = cleaned_utf8(rows[r][c]);
    fields["references"] = Json::array({rows[r][column]});
    records.push_back(dataset_record(std::to_string(r), rows[r][column], std::move(fields)));
  }
  return records;
}

/// Of a list, of lists by level, or the one.
std::vector<std::string> genai_skills(const Json& item) {
  std::vector<std::string> skills;
  const auto collect = [&](const Json& list) {
    for (const auto& skill : list) skills.push_back(field_text(skill));
  };
  for (const char* name : {"skills", "tags", "skill"}) {
    if (!item.contains(name)) continue;
    const Json& value = item[name];
    if (value.is_array()) collect(value);
    if (value.is_object()) {
      for (const auto& [level, list] : value.items()) {
        if (list.is_array()) collect(list);
      }
    }
    if (value.is_string()) skills.push_back(field_text(value));
  }
  return skills;
}

/// "advanced" for a prompt that needs an advanced skill, "basic" for one that needs none (Li et al., GenAI-Bench,
/// arXiv 2406.13743); empty where the file does not tell skills by level.
std::string genai_level(const Json& item) {
  for (const char* name : {"skills", "tags"}) {
    if (!item.contains(name) || !item[name].is_object()) continue;
    const Json& levels = item[name];
    for (const char* level : {"advanced", "basic"}) {
      if (levels.contains(level) && levels[level].is_array() && !levels[level].empty()) return level;
    }
  }
  return {};
}

/// {"00000": {"prompt": ..., "tags"/"skills": {...} or [...], "models": {name: [ratings]}, ...}}, or a list of such.
Dataset genai_bench(std::string_view bytes, const std::string& path) {
  WM_ASSIGN(const Json document, parse_json(bytes, path));
  std::vector<Record> records;
  const auto add = [&](const std::string& id, Json item) -> Status {
    if (text_in(item, "prompt").empty()) return no_such_part(path, "item " + id + " has no 'prompt'", "GenAI-Bench");
    const auto skills = genai_skills(item);
    item["skills"] = skills;
    std::vector<std::string> subjects = skills;
    if (const auto level = genai_level(item); !level.empty()) subjects.push_back("(" + level + ")");
    if (!subjects.empty()) item["subject"] = subjects;
    std::string prompt = text_in(item, "prompt");
    item["references"] = Json::array({prompt});
    records.push_back(dataset_record(id, prompt, std::move(item)));
    return {};
  };
  if (document.is_object()) {
    for (const auto& [id, item] : document.items()) WM_TRY(add(id, item));
  } else if (document.is_array()) {
    for (std::size_t i = 0; i < document.size(); ++i) {
      const std::string id = text_in(document[i], "id");
      WM_TRY(add(id.empty() ? std::to_string(i) : id, document[i]));
    }
  } else {
    return no_such_part(path, "is neither a list nor an object of prompts", "GenAI-Bench");
  }
  return records;
}

struct DatasetFormat {
  const char* id;
  Dataset (*parse)(std::string_view bytes, const std::string& path);
};

constexpr DatasetFormat kDatasetFormats[] = {{"squad", squad}, {"mmlu", mmlu}, {"humaneval", humaneval},
                                             {"gsm8k", gsm8k}, {"glue", glue}, {"genai-bench", genai_bench}};

/// All rows, the first one too: a header has no letter as its answer.
bool looks_like_mmlu(std::string_view bytes, const std::string& path) {
  const auto rows = parse_csv(bytes, ',', path);
  return rows.ok() && !rows->empty() && std::all_of(rows->begin(), rows->end(), is_mmlu_row);
}

/// What a file plainly is.
std::string known_format(std::string_view bytes, const std::string& path) {
  constexpr std::size_t kInspected = 1 << 16;
  const auto head = bytes.substr(0, kInspected);
  const auto has = [&](std::string_view what) { return head.find(what) != std::string_view::npos; };
  if (path.ends_with(".json") && has("\"data\"") && has("\"paragraphs\"")) return "squad";
  if (path.ends_with(".tsv") && looks_like_glue(head)) return "glue";
  if (path.ends_with(".csv") && looks_like_mmlu(bytes, path)) return "mmlu";
  if (path.ends_with(".jsonl") && has("\"task_id\"") && has("\"entry_point\"")) return "humaneval";
  if (path.ends_with(".jsonl") && has("\"question\"") && has("#### ")) return "gsm8k";
  if (path.ends_with(".json") && has("\"prompt\"") && has("\"tags\"") && (has("\"basic\"") || has("\"advanced\""))) {
    return "genai-bench";
  }
  return "";
}

}  // namespace

const std::vector<std::string>& dataset_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"auto"};
    for (const auto& format : kDatasetFormats) all.emplace_back(format.id);
    return all;
  }();
  return names;
}

Result<std::vector<Record>> parse_dataset(std::string_view bytes, const std::string& path, const std::string& format,
                                          const FieldNames& names) {
  bytes = without_byte_order_mark(bytes);
  const std::string wanted = format == "auto" ? known_format(bytes, path) : format;
  if (wanted.empty()) return parse_records(bytes, path, Side::reference, names);
  for (const auto& known : kDatasetFormats) {
    if (wanted != known.id) continue;
    if (!is_utf8(bytes)) return data_error(path + " is no UTF-8", "convert it: iconv -t utf-8");
    return known.parse(bytes, path);
  }
  const auto meant = nearest(wanted, dataset_formats());
  return usage_error("there is no data format '" + wanted + "'",
                     meant.empty() ? "formats: " + join(dataset_formats(), ", ") : "did you mean '" + meant + "'?");
}

}  // namespace warpmark::accuracy
