#include "accuracy/scoring/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "accuracy/columns.h"
#include "base/text.h"

namespace warpmark::accuracy {
namespace {

constexpr const char* kGroupNames[] = {"group", "cluster", "passage_id", "context_id"};
constexpr const char* kSubjectNames[] = {"subject", "skill", "category", "task"};

/// The field of this name, or without one the first of the usual ones that is `usable`; nullptr where there is none.
const Json* chosen_field(const Json& fields, const std::string& named, std::span<const char* const> usual,
                         bool (*usable)(const Json& value)) {
  if (!fields.is_object()) return nullptr;
  if (!named.empty()) return fields.contains(named) ? &fields[named] : nullptr;
  for (const char* name : usual) {
    if (fields.contains(name) && usable(fields[name])) return &fields[name];
  }
  return nullptr;
}

std::string group_in(const Json& fields, const std::string& named) {
  const Json* field =
      chosen_field(fields, named, kGroupNames, [](const Json& value) { return !value.is_structured(); });
  return field == nullptr ? std::string() : field_text(*field);
}

/// Of a list all texts, each once.
std::vector<std::string> subjects_in(const Json& fields, const std::string& named) {
  const Json* field = chosen_field(fields, named, kSubjectNames, [](const Json& value) { return !value.is_object(); });
  if (field == nullptr) return {};
  std::vector<std::string> texts;
  for (const auto& one : field->is_array() ? *field : Json::array({*field})) {
    const auto text = field_text(one);
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

/// All references a record holds: a list, SQuAD's {"text": [...]}, or the one text.
std::vector<std::string> references_in(const Record& record, const FieldNames& names) {
  std::vector<std::string> result;
  if (record.fields.is_object()) {
    for (const auto& [key, value] : record.fields.items()) {
      const bool is_it = names.reference.empty() ? key == "references" || key == "answers" || key == "targets"
                                                 : key == names.reference;
      if (!is_it) continue;
      const Json& list = value.is_object() && value.contains("text") ? value["text"] : value;
      if (!list.is_array()) continue;
      for (const auto& item : list) result.push_back(field_text(item));
      return result;
    }
  }
  if (record.has_text) result.push_back(record.text);
  return result;
}

Answer answer_of(Record record) {
  Answer answer{.text = std::move(record.text),
                .problem = std::move(record.problem),
                .fields = std::move(record.fields),
                .embedding = std::move(record.embedding),
                .samples = {}};
  if (!answer.problem.empty()) answer.text.clear();
  return answer;
}

bool all_have_ids(const std::vector<Record>& records) {
  return !records.empty() &&
         std::all_of(records.begin(), records.end(), [](const Record& record) { return !record.id.empty(); });
}

Result<std::vector<Answer>> answers_by_order(SystemRecords system, std::size_t examples) {
  if (system.records.size() != examples) {
    return data_error(
        fmt::format("{} has {} answers, the reference {} examples", system.path, system.records.size(), examples),
        "each line must answer its example, empty answers as empty lines; or give both sides an id");
  }
  std::vector<Answer> answers;
  for (auto& record : system.records) answers.push_back(answer_of(std::move(record)));
  return answers;
}

Result<std::vector<Answer>> answers_by_id(SystemRecords system, const std::vector<Example>& examples) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < examples.size(); ++i) places.emplace(examples[i].id, i);
  std::vector<Answer> answers(examples.size());
  std::vector<bool> seen(examples.size(), false);
  for (auto& record : system.records) {
    const auto place = places.find(record.id);
    if (place == places.end()) {
      return data_error(fmt::format("{} answers '{}', which the reference does not have", system.path, record.id),
                        "is it of another data set or split?");
    }
    Answer& answer = answers[place->second];
    if (seen[place->second]) {
      if (answer.samples.empty()) answer.samples.push_back(answer.fields);
      answer.samples.push_back(std::move(record.fields));
      continue;
    }
    seen[place->second] = true;
    answer = answer_of(std::move(record));
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!seen[i]) answers[i].problem = "there is no answer";
  }
  return answers;
}

Result<std::vector<Example>> examples_of(std::vector<Record> records, const FieldNames& names) {
  std::vector<Example> examples;
  std::map<std::string, std::size_t> ids;
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& record = records[i];
    if (!record.problem.empty()) return data_error(fmt::format("reference {} {}", i + 1, record.problem));
    Example example{.id = record.id, .references = references_in(record, names)};
    example.group = group_in(record.fields, names.group);
    example.subjects = subjects_in(record.fields, names.subject);
    example.fields = std::move(record.fields);
    example.embedding = std::move(record.embedding);
    if (!example.id.empty() && !ids.emplace(example.id, i).second) {
      return data_error("the reference has two examples '" + example.id + "'", "ids must be different");
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

Result<std::vector<Record>> rows_as_records(const Column& array, const std::string& path) {
  const bool has_rows = array.numeric && !array.shape.empty() && array.shape[0] > 0;
  if (!has_rows) return data_error(path + " is no array of numbers with a row an example");
  const std::size_t rows = static_cast<std::size_t>(array.shape[0]), width = array.numbers.size() / rows;
  std::vector<Record> records(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto begin = array.numbers.begin() + static_cast<std::ptrdiff_t>(r * width);
    records[r].embedding.assign(begin, begin + static_cast<std::ptrdiff_t>(width));
    if (width == 1) {
      records[r].text = Json(records[r].embedding[0]).dump();
      records[r].has_text = true;
    }
  }
  return records;
}

Json token_rows(const Column& tensor) {
  const auto width = static_cast<std::size_t>(tensor.shape[1]);
  Json rows = Json::array();
  for (std::size_t at = 0; at + width <= tensor.numbers.size() && width > 0; at += width) {
    const auto begin = tensor.numbers.begin() + static_cast<std::ptrdiff_t>(at);
    rows.push_back(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(width)));
  }
  return rows;
}

Result<std::vector<Record>> tensors_as_records(const Columns& tensors, const std::string& path) {
  std::vector<Record> records;
  for (const auto& tensor : tensors) {
    const bool fits = tensor.numeric && (tensor.shape.size() == 1 || tensor.shape.size() == 2) &&
                      tensor.shape.size() == tensors.front().shape.size();
    if (!fits) {
      return data_error(
          fmt::format("{}: tensor '{}' is no embedding of an example as the others are", path, tensor.name),
          "one tensor with a row an example, or for each example one of [width] or [tokens, width]; a "
          "tensor among others is named with --ref-field or --out-field");
    }
    Record record{.id = tensor.name};
    if (tensor.shape.size() == 1) {
      record.embedding = tensor.numbers;
    } else {
      record.fields = Json{{"token_embeddings", token_rows(tensor)}};
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::map<std::string, std::vector<std::uint32_t>> examples_by_subject(const Examples& examples) {
  std::map<std::string, std::vector<std::uint32_t>> members;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    for (const auto& subject : examples.examples[i].subjects) members[subject].push_back(static_cast<std::uint32_t>(i));
  }
  return members;
}

Result<Examples> join_examples(std::vector<std::vector<Record>> references, std::vector<SystemRecords> systems,
                               const FieldNames& names) {
  Examples joined;
  if (references.empty() || references.front().empty()) {
    return data_error("there are no references", "name a file that has some with --ref");
  }
  const bool ids = all_have_ids(references.front());
  WM_ASSIGN(joined.examples, examples_of(std::move(references.front()), names));
  for (std::size_t set = 1; set < references.size(); ++set) {
    if (references[set].size() != joined.size()) {
      return data_error(fmt::format("reference file {} has {} examples, the first {}", set + 1, references[set].size(),
                                    joined.size()));
    }
    for (std::size_t i = 0; i < joined.size(); ++i) {
      for (auto& text : references_in(references[set][i], names)) joined.examples[i].references.push_back(text);
    }
  }
  for (auto& system : systems) {
    joined.systems.push_back(system.name);
    const bool by_id = ids && all_have_ids(system.records);
    auto answers =
        by_id ? answers_by_id(std::move(system), joined.examples) : answers_by_order(std::move(system), joined.size());
    if (!answers.ok()) return answers.error();
    joined.answers.push_back(std::move(*answers));
  }
  return joined;
}

std::vector<std::string> system_names(std::span<const std::string> paths) {
  std::vector<std::vector<std::string>> parts;
  std::set<std::string> stems;
  for (const std::filesystem::path path : paths) {
    stems.insert(path.stem().string());
    auto& own = parts.emplace_back();
    for (const auto& part : path.parent_path()) own.push_back(part.string());
    own.push_back(path.stem().string());
  }
  if (stems.size() != paths.size()) {
    const auto shortest = std::min_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
                            return a.size() < b.size();
                          })->size();
    const auto all_have = [&](auto part_of) {
      return std::all_of(parts.begin(), parts.end(),
                         [&](const auto& one) { return part_of(one) == part_of(parts[0]); });
    };
    std::size_t before = 0, behind = 0;
    while (before + 1 < shortest && all_have([&](const auto& one) { return one[before]; })) ++before;
    while (before + behind + 1 < shortest && all_have([&](const auto& one) { return one[one.size() - 1 - behind]; })) {
      ++behind;
    }
    for (auto& own : parts) own = {own.begin() + static_cast<long>(before), own.end() - static_cast<long>(behind)};
  } else {
    for (auto& own : parts) own = {own.back()};
  }
  std::vector<std::string> names;
  for (const auto& own : parts) names.push_back(join(own, "/"));
  const std::set<std::string> different(names.begin(), names.end());
  return different.size() == names.size() ? names : std::vector<std::string>(paths.begin(), paths.end());
}

Result<std::vector<Record>> npy_records(std::string_view bytes, const std::string& path) {
  WM_ASSIGN(const auto columns, parse_npy(bytes, path));
  return rows_as_records(columns.front(), path);
}

Result<std::vector<Record>> safetensors_records(std::string_view bytes, const std::string& path,
                                                const std::string& tensor) {
  WM_ASSIGN(const auto tensors, parse_safetensors(bytes, path));
  if (!tensor.empty()) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const Column& one) { return one.name == tensor; });
    if (found != tensors.end()) return rows_as_records(*found, path);
    std::vector<std::string> names;
    for (const auto& one : tensors) names.push_back(one.name);
    return data_error(path + " has no tensor '" + tensor + "'", "it has: " + join(names, ", "));
  }
  return tensors.size() == 1 ? rows_as_records(tensors.front(), path) : tensors_as_records(tensors, path);
}

}  // namespace warpmark::accuracy
