#include "evaluate/task.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "evaluate/items.h"

namespace warpmark::evaluate {
namespace {

constexpr std::pair<const char*, Extraction> kExtractions[] = {
    {"all", Extraction::all},     {"first_line", Extraction::first_line}, {"letter", Extraction::letter},
    {"regex", Extraction::regex}, {"after", Extraction::after},           {"code", Extraction::code}};

constexpr std::pair<const char*, Ask> kAsks[] = {
    {"text", Ask::text}, {"choices", Ask::choices}, {"letters", Ask::letters}, {"yes", Ask::yes}};

template <typename Kind, std::size_t N>
std::vector<std::string> words_in(const std::pair<const char*, Kind> (&kinds)[N]) {
  std::vector<std::string> words;
  for (const auto& [name, kind] : kinds) words.emplace_back(name);
  return words;
}

class TaskReader {
 public:
  explicit TaskReader(std::string_view file) : yaml_(file) {}

  Result<Task> read(const YAML::Node& root) {
    if (!root.IsMap())
      return data_error(std::string(yaml_.file()) + " is no task", "it must be a map: name, data, ...");
    WM_TRY(yaml_.no_key_twice(root));
    WM_TRY(yaml_.only_keys(
        root, {"schema", "name", "version", "data", "prompt", "system", "answer", "few_shot", "fields", "generation",
               "extract", "pattern", "execute", "metrics", "variants", "cost", "ask", "before_choice", "images"}));
    WM_TRY(yaml_.schema(root, "warpmark.task/1"));
    WM_TRY(text(root, "name", task_.name));
    WM_TRY(text(root, "version", task_.version));
    WM_TRY(text(root, "prompt", task_.prompt));
    WM_TRY(text(root, "system", task_.system));
    WM_TRY(text(root, "answer", task_.answer));
    WM_TRY(text(root, "before_choice", task_.before_choice));
    WM_TRY(text(root, "pattern", task_.pattern));
    if (task_.name.empty() || task_.prompt.empty() || !root["data"] || !root["metrics"]) {
      return yaml_.error(root, "a task needs name, data, prompt and metrics");
    }
    WM_TRY(data(root["data"], task_.data));
    if (root["few_shot"]) WM_TRY(few_shot(root["few_shot"]));
    if (root["fields"]) WM_TRY(fields(root["fields"]));
    WM_TRY(yaml_.maybe(root, "images", task_.images));
    if (root["ask"]) WM_TRY(ask(root["ask"]));
    if (root["generation"]) WM_TRY(generation(root["generation"]));
    if (!task_.images.empty() && !task_.generation.chat) {
      return yaml_.error(root, "images can be shown in a chat only", "leave out generation.chat: false");
    }
    if (root["extract"]) WM_TRY(extraction(root["extract"]));
    if (root["execute"]) WM_TRY(execution(root["execute"]));
    if (root["cost"]) WM_TRY(cost(root["cost"]));
    WM_ASSIGN(task_.metrics, yaml_.texts(root["metrics"], "metrics"));
    if (root["variants"]) WM_TRY(variants(root["variants"]));
    return task_;
  }

 private:
  Status text(const YAML::Node& map, const char* key, std::string& into) {
    if (!map[key]) return {};
    WM_ASSIGN(into, yaml_.scalar(map[key], key));
    return {};
  }

  Status data(const YAML::Node& node, TaskData& into) {
    if (node.IsScalar()) {
      WM_ASSIGN(into.file, yaml_.scalar(node, "data"));
      return {};
    }
    if (!node.IsMap()) return yaml_.error(node, "data must be a file's name or a map");
    WM_TRY(yaml_.only_keys(node, {"file", "format", "split", "limit"}));
    WM_TRY(text(node, "file", into.file));
    WM_TRY(text(node, "format", into.format));
    WM_TRY(text(node, "split", into.split));
    WM_TRY(yaml_.maybe(node, "limit", into.limit, &YamlReader::count, 1, 1'000'000'000));
    return into.file.empty() ? Status(yaml_.error(node, "data has no file")) : Status();
  }

  Status few_shot(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.error(node, "few_shot must be a map: file, n");
    WM_TRY(yaml_.only_keys(node, {"file", "format", "n"}));
    WM_TRY(text(node, "file", task_.few_shot.file));
    WM_TRY(text(node, "format", task_.few_shot.format));
    if (task_.few_shot.file.empty() || !node["n"]) return yaml_.error(node, "few_shot needs file and n");
    WM_ASSIGN(task_.shots, yaml_.count(node["n"], "n", 0, 1000));
    return {};
  }

  Status fields(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.error(node, "fields must be a map");
    WM_TRY(yaml_.only_keys(node, {"id", "reference", "group", "subject"}));
    WM_TRY(text(node, "id", task_.fields.id));
    WM_TRY(text(node, "reference", task_.fields.reference));
    WM_TRY(text(node, "group", task_.fields.group));
    return text(node, "subject", task_.fields.subject);
  }

  Status generation(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.error(node, "generation must be a map");
    WM_TRY(yaml_.only_keys(node, {"max_tokens", "temperature", "stop", "samples", "logprobs", "chat"}));
    Generation& into = task_.generation;
    WM_TRY(yaml_.maybe(node, "max_tokens", into.max_tokens, &YamlReader::count, 1, 1'000'000));
    if (node["temperature"]) {
      WM_ASSIGN(into.temperature, yaml_.number(node["temperature"], "temperature"));
      if (!(into.temperature >= 0)) return yaml_.error(node, "temperature must not be negative");
    }
    WM_TRY(yaml_.maybe(node, "stop", into.stop));
    WM_TRY(yaml_.maybe(node, "samples", into.samples, &YamlReader::count, 1, 10'000));
    WM_TRY(yaml_.maybe(node, "logprobs", into.logprobs));
    if (node["chat"]) {
      WM_ASSIGN(into.chat, yaml_.flag(node["chat"], "chat"));
      if (into.chat && task_.ask == Ask::choices) {
        return yaml_.error(node["chat"], "a chat API has no log probabilities of a given text",
                           "ask: choices needs completions; ask: letters can be put to a chat");
      }
    }
    if (task_.ask != Ask::text && into.samples != 1) return yaml_.error(node, "samples are for ask: text");
    return {};
  }

  Status ask(const YAML::Node& node) {
    WM_ASSIGN(const auto word, yaml_.one_of(node, "ask", words_in(kAsks)));
    for (const auto& [name, kind] : kAsks) {
      if (word == name) task_.ask = kind;
    }
    // Given texts are weighed by completions: a chat gives no log-probabilities of what it did not say.
    task_.generation.chat = task_.ask == Ask::text || task_.ask == Ask::yes;
    return {};
  }

  Status extraction(const YAML::Node& node) {
    WM_ASSIGN(const auto word, yaml_.one_of(node, "extract", words_in(kExtractions)));
    for (const auto& [name, kind] : kExtractions) {
      if (word == name) task_.extraction = kind;
    }
    const bool needs_pattern = task_.extraction == Extraction::regex || task_.extraction == Extraction::after;
    if (needs_pattern && task_.pattern.empty()) return yaml_.error(node, "extract " + word + " needs a pattern");
    if (task_.extraction != Extraction::regex) return {};
    const RE2 pattern(task_.pattern, RE2::Quiet);
    return pattern.ok() ? Status()
                        : Status(yaml_.error(node, "the pattern is no regular expression: " + pattern.error()));
  }

  Status execution(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.error(node, "execute must be a map: interpreter, deadline");
    WM_TRY(yaml_.only_keys(node, {"interpreter", "deadline"}));
    task_.execution.enabled = true;
    WM_TRY(text(node, "interpreter", task_.execution.interpreter));
    WM_TRY(yaml_.maybe(node, "deadline", task_.execution.deadline_s, &YamlReader::duration_s));
    return {};
  }

  Status cost(const YAML::Node& node) {
    if (!node.IsMap()) return yaml_.error(node, "cost must be a map");
    WM_TRY(yaml_.only_keys(node, {"per_million_input", "per_million_output", "currency"}));
    const auto number = [&](const char* key, double& into) -> Status {
      if (!node[key]) return {};
      WM_ASSIGN(into, yaml_.number(node[key], key));
      return {};
    };
    WM_TRY(number("per_million_input", task_.cost.per_million_input));
    WM_TRY(number("per_million_output", task_.cost.per_million_output));
    return text(node, "currency", task_.cost.currency);
  }

  Status variants(const YAML::Node& node) {
    WM_ASSIGN(task_.variants, yaml_.texts(node, "variants"));
    const auto& known = variant_names();
    for (const auto& name : task_.variants) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return yaml_.error(node, "there is no variant '" + name + "'", "variants: " + join(known, ", "));
      }
    }
    return {};
  }

  YamlReader yaml_;
  Task task_;
};

}  // namespace

Result<Task> parse_task(std::string_view yaml, std::string_view file) {
  return read_yaml(yaml, file, [&](const YAML::Node& root) -> Result<Task> { return TaskReader(file).read(root); });
}

}  // namespace warpmark::evaluate
