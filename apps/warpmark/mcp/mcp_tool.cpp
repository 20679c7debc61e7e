#include "warpmark/mcp/mcp_tool.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "workloads/catalog.h"

namespace warpmark::apps {
namespace {

constexpr std::size_t kLongestText = 16 << 10;
constexpr std::size_t kMostItems = 256;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value, -1); }

bool is_scalar(const Json& value) { return value.is_string() || value.is_number() || value.is_boolean(); }

/// No control characters, which logs and terminals would obey; a query may have lines.
bool is_clean(const Json& value) {
  const auto text = text_of(value);
  return text.size() <= kLongestText && std::none_of(text.begin(), text.end(), [](char c) {
           return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == 127;
         });
}

bool is_name(const Json& value) {
  if (!value.is_string() || !is_clean(value)) return false;
  const auto text = value.get<std::string>();
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._:+*?-").find(c) != std::string::npos;
  });
}

bool is_path(const Json& value) { return value.is_string() && is_clean(value) && !value.get<std::string>().empty(); }

/// A setting env.NAME would put any variable into a program's environment.
bool are_settings(const Json& value) {
  if (!value.is_object() || value.size() > kMostItems) return false;
  for (const auto& [key, each] : value.items()) {
    const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    });
    if (!plain || !is_scalar(each) || !is_clean(each)) return false;
  }
  return true;
}

template <typename Check>
bool all_of_list(const Json& value, Check check) {
  return value.is_array() && !value.empty() && value.size() <= kMostItems &&
         std::all_of(value.begin(), value.end(), check);
}

bool is_variant(const Json& value) {
  if (!value.is_object() || !value.contains("command") || !value["command"].is_string()) return false;
  for (const auto& [key, each] : value.items()) {
    if (key != "command" && key != "settings") return false;
  }
  return !value.contains("settings") || are_settings(value["settings"]);
}

/// A property with what the option of the verb says, and that option, if it hands one on.
struct Resolved {
  McpProperty property;
  const OptionSpec* option = nullptr;
};

McpKind kind_of(const OptionSpec& option) {
  const std::string_view value = option.value;
  const auto completion = completion_of(option);
  if (value.empty()) return McpKind::flag;
  if (completion == "<files>") return option.use.repeatable ? McpKind::paths : McpKind::path;
  if (completion == "<runs>" || completion == "<devices>") return McpKind::name;
  if (value == "N") return option.use.range.low.value_or(0) >= 1 ? McpKind::count : McpKind::whole;
  return value == "TIME" || value == "RATIO" || value == "P" ? McpKind::quantity : McpKind::text;
}

Resolved resolved(const char* verb, McpProperty property) {
  if (property.help != nullptr) return {property};
  std::string name = "--" + std::string(property.name);
  std::replace(name.begin(), name.end(), '_', '-');
  const OptionSpec& option = option_of_verb(verb, name);
  if (property.kind == McpKind::option) property.kind = kind_of(option);
  property.help = option.help;
  property.option = option.name;
  if (option.use.choice) property.choices = option.completion;
  return {property, &option};
}

const char* verb_of(const McpTool& tool) { return *tool.verb == '\0' ? tool.id : tool.verb; }

/// nullptr if the value fits, else what would.
const char* misfit(McpKind kind, const Json& value) {
  const auto unless = [](bool fits, const char* what) -> const char* { return fits ? nullptr : what; };
  switch (kind) {
    case McpKind::option: break;
    case McpKind::text: return unless(value.is_string() && is_clean(value), "a text");
    case McpKind::name: return unless(is_name(value), "a name of letters, digits and . _ : + * ? -");
    case McpKind::quantity:
      return unless((value.is_string() || value.is_number()) && is_clean(value) && !text_of(value).starts_with("-"),
                    "a number, or a text such as 10s or 2%");
    case McpKind::whole:
      return unless(value.is_number_integer() && value.get<double>() >= 0, "a whole number from 0 on");
    case McpKind::count:
      return unless(value.is_number_integer() && value.get<double>() >= 1, "a whole number from 1 on");
    case McpKind::flag: return unless(value.is_boolean(), "true or false");
    case McpKind::path: return unless(is_path(value), "a path");
    case McpKind::paths: return unless(all_of_list(value, is_path), "a list of paths");
    case McpKind::names: return unless(all_of_list(value, is_name), "a list of names");
    case McpKind::settings:
      return unless(are_settings(value), "an object of names (letters, digits, _ and -) and values");
    case McpKind::command:
    case McpKind::project: return unless(value.is_string(), "a name of the configuration");
    case McpKind::variant: return unless(is_variant(value), "an object {\"command\": NAME, \"settings\": {...}}");
  }
  return "something else";
}

Json enumeration(const std::vector<std::string>& names) { return {{"type", "string"}, {"enum", names}}; }

Json schema_of(const McpProperty& property, const McpConfig& config) {
  const Json text{{"type", "string"}};
  const Json settings{{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
  switch (property.kind) {
    case McpKind::option: break;
    case McpKind::text:
    case McpKind::name: return *property.choices != '\0' ? enumeration(split(property.choices, ' ')) : text;
    case McpKind::path: return text;
    case McpKind::quantity: return {{"type", {"string", "number"}}};
    case McpKind::whole: return {{"type", "integer"}, {"minimum", 0}};
    case McpKind::count: return {{"type", "integer"}, {"minimum", 1}};
    case McpKind::flag: return {{"type", "boolean"}};
    case McpKind::paths:
    case McpKind::names: return {{"type", "array"}, {"items", text}, {"minItems", 1}};
    case McpKind::settings: return settings;
    case McpKind::command: return enumeration(config.command_names());
    case McpKind::project: return enumeration(config.project_names());
    case McpKind::variant:
      return {{"type", "object"},
              {"properties", {{"command", enumeration(config.command_names())}, {"settings", settings}}},
              {"required", {"command"}},
              {"additionalProperties", false}};
  }
  return text;
}

/// JSON Schema forbids an empty "enum": what has nothing to choose from is not offered.
bool is_offered(const McpProperty& property, const McpConfig& config) {
  if (property.kind == McpKind::command || property.kind == McpKind::variant) return !config.commands.empty();
  return property.kind != McpKind::project || !config.projects.empty();
}

std::string commands_text(const McpConfig& config) {
  std::string text;
  for (const auto& command : config.commands) {
    text += (text.empty() ? "" : "; ") + command.name + ": " + join(command.run, " ");
    for (const auto& [key, values] : command.settings) text += " (" + key + ": " + join(values, ", ") + ")";
  }
  return text;
}

/// A word that verbs take for a stored session or, where there is one, for a file of results in the working folder.
Status allowed_names(const Json& value, const McpConfig& config) {
  const Json names = value.is_array() ? value : Json::array({value});
  for (const auto& each : names) {
    std::error_code ignored;
    const auto name = each.get<std::string>();
    if (std::filesystem::is_regular_file(config.folder / name, ignored)) WM_TRY(allowed_path(config, name));
  }
  return {};
}

Result<Json> with_allowed_paths(const McpProperty& property, Json value, const McpConfig& config) {
  const bool list = property.kind == McpKind::paths;
  Json paths = list ? value : Json::array({value});
  for (auto& each : paths) {
    WM_ASSIGN(each, allowed_path(config, each.get<std::string>()));
  }
  return list ? paths : paths[0];
}

/// Parameters of workloads are an agent's to set, but for what is started and what is read or written.
Status check_parameters(const std::string& who, const Json& values) {
  for (const auto* workload : workloads::catalog()) {
    for (const ParamSpec& spec : workload->params) {
      if (!values.contains(spec.name)) continue;
      const std::string name = who + "'" + spec.name + "' names a ";
      if (spec.kind == ParamKind::program) {
        return usage_error(name + "program, which is not for an agent to choose",
                           "models run in the python3 that is on the PATH of this server");
      }
      if (spec.kind == ParamKind::path) {
        return usage_error(name + "place on this machine, which is not for an agent to choose",
                           "leave it out: files are made in the folder for temporary files");
      }
    }
  }
  return {};
}

}  // namespace

std::string McpArguments::text(const char* name, const std::string& otherwise) const {
  return has(name) ? text_of(values_[name]) : otherwise;
}

std::vector<std::string> McpArguments::texts(const char* name) const {
  std::vector<std::string> texts;
  if (!has(name)) return texts;
  for (const auto& each : values_[name]) texts.push_back(text_of(each));
  return texts;
}

std::vector<std::pair<std::string, std::string>> McpArguments::settings(const char* name) const {
  std::vector<std::pair<std::string, std::string>> settings;
  if (!has(name)) return settings;
  for (const auto& [key, value] : values_[name].items()) settings.emplace_back(key, text_of(value));
  return settings;
}

Result<std::vector<std::string>> McpArguments::command(const char* name, const char* settings_name) const {
  return words_of_command(config_, text(name), settings(settings_name));
}

Result<std::vector<std::string>> McpArguments::variant(const char* name) const {
  const McpArguments inner(values_[name], config_);
  return inner.command();
}

namespace {

/// What can be relied on; docs/schema has the rest.
Json output_schema(const McpTool& tool) {
  if (*tool.answers == '\0') {
    return {{"type", "object"},
            {"properties",
             {{"rows", {{"type", "array"}, {"items", {{"type", "object"}}}}},
              {"rows_left_out", {{"type", "integer"}, {"minimum", 0}}},
              {"all_rows_counted", {{"type", "boolean"}}}}},
            {"required", {"rows", "rows_left_out", "all_rows_counted"}}};
  }
  return {{"type", "object"},
          {"properties", {{"schema", {{"type", "string"}, {"enum", split(tool.answers, ' ')}}}}},
          {"required", {"schema"}}};
}

}  // namespace

Json mcp_tool_json(const McpTool& tool, const McpConfig& config) {
  Json properties = Json::object(), required = Json::array();
  for (const auto& given : tool.properties) {
    const auto [property, option] = resolved(verb_of(tool), given);
    if (!is_offered(property, config)) continue;
    Json schema = schema_of(property, config);
    std::string help = option != nullptr ? option_help(*option) : property.help;
    if (property.kind == McpKind::command || property.kind == McpKind::variant) help += ". " + commands_text(config);
    schema["description"] = help;
    properties[property.name] = std::move(schema);
    if (property.required) required.push_back(property.name);
  }
  Json input{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) input["required"] = std::move(required);
  return {{"name", tool.id},
          {"title", tool.title},
          {"description", tool.summary},
          {"inputSchema", std::move(input)},
          {"outputSchema", output_schema(tool)},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.changes_nothing},
            {"destructiveHint", false},
            {"idempotentHint", tool.changes_nothing},
            {"openWorldHint", false}}}};
}

Result<McpArguments> read_mcp_arguments(const McpTool& tool, const Json& given, const McpConfig& config) {
  const std::string who = std::string("tool ") + tool.id + ": ";
  if (!given.is_object()) return usage_error(who + "the arguments must be an object");
  Json values = Json::object();
  std::vector<std::string> known;
  for (const auto& row : tool.properties) {
    const McpProperty property = resolved(verb_of(tool), row).property;
    known.emplace_back(property.name);
    if (!given.contains(property.name)) {
      if (property.required) return usage_error(who + "'" + property.name + "' is missing", property.help);
      continue;
    }
    const Json& value = given[property.name];
    const std::string at = who + "'" + property.name + "' must be ";
    if (const char* fitting = misfit(property.kind, value); fitting != nullptr) {
      return usage_error(at + fitting, property.help);
    }
    // Parameters of workloads, not settings of the commands that the configuration names.
    const bool parameters = property.kind == McpKind::settings && *property.option != '\0';
    if (parameters) WM_TRY(check_parameters(who, value));
    const auto choices = split(property.choices, ' ');
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text_of(value)) == choices.end()) {
      return usage_error(at + "one of " + join(choices, ", "), property.help);
    }
    values[property.name] = value;
    if (property.kind == McpKind::path || property.kind == McpKind::paths) {
      WM_ASSIGN(values[property.name], with_allowed_paths(property, value, config));
    }
    if (property.kind == McpKind::name || property.kind == McpKind::names) WM_TRY(allowed_names(value, config));
    if (property.kind == McpKind::project) {
      const auto project = config.projects.find(text_of(value));
      if (project == config.projects.end()) {
        return usage_error(who + "there is no project '" + text_of(value) + "'",
                           "there is: " + join(config.project_names(), ", "));
      }
      values[property.name] = project->second.string();
    }
  }
  for (const auto& [key, value] : given.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto meant = nearest(key, known);
    return usage_error(who + "there is no argument '" + key + "'",
                       meant.empty() ? "arguments: " + join(known, ", ") : "did you mean '" + meant + "'?");
  }
  return McpArguments(std::move(values), config);
}

std::vector<std::string> mcp_words(const char* verb, std::span<const McpProperty> properties,
                                   const McpArguments& arguments) {
  std::vector<std::string> words{verb};
  for (const auto& row : properties) {
    const McpProperty property = resolved(verb, row).property;
    if (*property.option == '\0' || !arguments.has(property.name)) continue;
    // Written as one word, so that no value is taken for an option.
    const std::string option = property.option;
    if (property.kind == McpKind::flag) {
      if (arguments.text(property.name) == "true") words.push_back(option);
    } else if (property.kind == McpKind::settings) {
      for (const auto& [key, value] : arguments.settings(property.name)) {
        words.push_back(option + "=" + key + "=" + value);
      }
    } else if (property.kind == McpKind::names || property.kind == McpKind::paths) {
      for (const auto& each : arguments.texts(property.name)) words.push_back(option + "=" + each);
    } else {
      words.push_back(option + "=" + arguments.text(property.name));
    }
  }
  return words;
}

void add_command(std::vector<std::string>& words, const std::vector<std::string>& command) {
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
}

}  // namespace warpmark::apps
