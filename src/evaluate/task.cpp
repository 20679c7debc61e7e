#include "evaluate/task.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/yaml_keys.h"
#include "evaluate/items.h"

namespace warpmark::evaluate {
namespace {

constexpr YamlKey kDataKeys[] = {
    yaml_key<&TaskData::file>("file").needed("data has no file"),
    yaml_key<&TaskData::format>("format"),
    yaml_key<&TaskData::split>("split"),
    yaml_key<&TaskData::limit>("limit", yaml::whole(1, 1'000'000'000)),
};

Status read_data(const YamlReader& reader, const YamlNode& node, const YamlKey& key, TaskData& into) {
  if (node.is_scalar()) return reader.value(node, key, into.file);
  WM_TRY(reader.fill(node, "data must be a file's name or a map", kDataKeys, into));
  return into.file.empty() ? Status(reader.error(node, "data has no file")) : Status();
}

constexpr YamlKey kFewShotKeys[] = {
    yaml_key<&TaskData::file>("file"),
    yaml_key<&TaskData::format>("format"),
    yaml_key("n"),
};

Status read_few_shot(const YamlReader& reader, const YamlNode& node, const YamlKey&, Task& task) {
  WM_TRY(reader.fill(node, "few_shot must be a map: file, n", kFewShotKeys, task.few_shot));
  if (task.few_shot.file.empty() || !node["n"]) return reader.error(node, "few_shot needs file and n");
  return reader.value(node["n"], {.key = "n", .form = yaml::whole(0, 1000)}, task.shots);
}

constexpr YamlKey kFieldKeys[] = {
    yaml_key<&accuracy::FieldNames::id>("id"),
    yaml_key<&accuracy::FieldNames::reference>("reference"),
    yaml_key<&accuracy::FieldNames::group>("group"),
    yaml_key<&accuracy::FieldNames::subject>("subject"),
};
constexpr YamlKey kGenerationKeys[] = {
    yaml_key<&Generation::max_tokens>("max_tokens", yaml::whole(1, 1'000'000)),
    yaml_key<&Generation::temperature>("temperature"),
    yaml_key<&Generation::stop>("stop"),
    yaml_key<&Generation::samples>("samples", yaml::whole(1, 10'000)),
    yaml_key<&Generation::logprobs>("logprobs"),
    yaml_key<&Generation::chat>("chat"),
};
constexpr YamlKey kExecutionKeys[] = {
    yaml_key<&Execution::interpreter>("interpreter"),
    yaml_key<&Execution::deadline_s>("deadline", yaml::duration),
};
constexpr YamlKey kCostKeys[] = {
    yaml_key<&Cost::per_million_input>("per_million_input"),
    yaml_key<&Cost::per_million_output>("per_million_output"),
    yaml_key<&Cost::currency>("currency"),
};
constexpr YamlKey kTaskKeys[] = {
    yaml_schema("warpmark.task/1"),
    yaml_key<&Task::name>("name"),
    yaml_key<&Task::version>("version"),
    yaml_key<&Task::data, read_data>("data"),
    yaml_key<&Task::prompt>("prompt"),
    yaml_key<&Task::system>("system"),
    yaml_key<&Task::answer>("answer"),
    yaml_key<read_few_shot>("few_shot"),
    yaml_key<&Task::fields>("fields", yaml::map<kFieldKeys>("fields must be a map")),
    yaml_key<&Task::generation>("generation", yaml::map<kGenerationKeys>("generation must be a map")),
    yaml_key<&Task::extraction>("extract"),
    yaml_key<&Task::pattern>("pattern"),
    yaml_key<&Task::execution>("execute", yaml::map<kExecutionKeys>("execute must be a map: interpreter, deadline")),
    yaml_key<&Task::metrics>("metrics"),
    yaml_key<&Task::variants>("variants"),
    yaml_key<&Task::cost>("cost", yaml::map<kCostKeys>("cost must be a map")),
    yaml_key<&Task::ask>("ask"),
    yaml_key<&Task::before_choice>("before_choice"),
    yaml_key<&Task::images>("images"),
};

Status check_generation(const YamlReader& reader, const YamlNode& root, Task& task) {
  const auto node = root["generation"];
  Generation& generation = task.generation;
  if (!(generation.temperature >= 0)) return reader.error(node, "temperature must not be negative");
  // Given texts are weighed by completions: a chat gives no log-probabilities of what it did not say.
  if (!node["chat"]) generation.chat = task.ask == Ask::text || task.ask == Ask::yes;
  if (generation.chat && task.ask == Ask::choices) {
    return reader.error(node["chat"], "a chat API has no log probabilities of a given text",
                        "ask: choices needs completions; ask: letters can be put to a chat");
  }
  if (task.ask != Ask::text && generation.samples != 1) return reader.error(node, "samples are for ask: text");
  if (task.images.empty() || generation.chat) return {};
  return reader.error(root, "images can be shown in a chat only", "leave out generation.chat: false");
}

Status check_extraction(const YamlReader& reader, const YamlNode& node, const Task& task) {
  const bool needs_pattern = task.extraction == Extraction::regex || task.extraction == Extraction::after;
  if (needs_pattern && task.pattern.empty()) {
    return reader.error(node, std::string("extract ") + name_of(task.extraction) + " needs a pattern");
  }
  if (task.extraction != Extraction::regex) return {};
  const RE2 pattern(task.pattern, RE2::Quiet);
  return pattern.ok() ? Status()
                      : Status(reader.error(node, "the pattern is no regular expression: " + pattern.error()));
}

}  // namespace

Result<Task> parse_task(std::string_view yaml, std::string_view file) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file));
  const YamlReader reader(file);
  if (!root.is_map()) return data_error(std::string(file) + " is no task", "it must be a map: name, data, ...");
  Task task;
  WM_TRY(reader.fill(root, "", kTaskKeys, task));
  if (task.name.empty() || task.prompt.empty() || !root["data"] || !root["metrics"]) {
    return reader.error(root, "a task needs name, data, prompt and metrics");
  }
  WM_TRY(check_generation(reader, root, task));
  WM_TRY(check_extraction(reader, root["extract"], task));
  task.execution.enabled = static_cast<bool>(root["execute"]);
  const auto& known = variant_names();
  for (const auto& name : task.variants) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return reader.error(root["variants"], "there is no variant '" + name + "'", "variants: " + join(known, ", "));
  }
  return task;
}

}  // namespace warpmark::evaluate
