#include "accuracy/scoring/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

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

}  // namespace warpmark::accuracy
