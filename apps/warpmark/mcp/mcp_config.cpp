#include "warpmark/mcp/mcp_config.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml_keys.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

Result<fs::path> folder_at(const fs::path& path) {
  std::error_code code;
  auto canonical = fs::canonical(path, code);
  if (!code && fs::is_directory(canonical, code)) return canonical;
  return environment_error("there is no folder " + path.string(), "make it, or leave it out of the configuration");
}

bool is_below(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

Status read_setting(const YamlReader& reader, const YamlNode& key_node, const YamlNode& node, McpCommand& read) {
  WM_ASSIGN(auto key, reader.scalar(key_node, "settings"));
  WM_ASSIGN(auto values, reader.texts(node, key));
  if (values.empty()) return reader.error(node, "setting " + key + " has no values to choose from");
  if (std::ranges::find(values, "--") != values.end()) {
    return reader.error(node, "a setting cannot be --", "it separates commands");
  }
  const std::string place = "{" + key + "}";
  const bool used =
      std::ranges::any_of(read.run, [&](const auto& word) { return word.find(place) != std::string::npos; });
  if (!used) return reader.error(key_node, "run has no " + place, "write it where the value belongs");
  read.settings.emplace_back(std::move(key), std::move(values));
  return {};
}

Status read_run(const YamlReader& reader, const YamlNode& node, const YamlKey&, McpCommand& command) {
  if (node.items().empty()) {
    return reader.error(node, "command " + command.name + " needs run: a list of words",
                        "such as run: [python3, train.py]");
  }
  WM_ASSIGN(command.run, reader.texts(node, "run"));
  if (std::ranges::find(command.run, "--") != command.run.end()) {
    return reader.error(node, "a word of run cannot be --", "it separates commands");
  }
  if (command.run.size() != 1 || command.run[0].find(' ') == std::string::npos) return {};
  return reader.error(node, "run is one word with a blank in it", "give the words as a list of their own");
}

constexpr YamlKey kCommandKeys[] = {yaml_key<read_run>("run"), yaml_key("settings")};

Status read_commands(const YamlReader& reader, const YamlNode& map, const YamlKey&, McpConfig& config) {
  if (!map.is_map()) return reader.error(map, "commands must be a map");
  for (const auto& [key, node] : map.pairs()) {
    auto& command = config.commands.emplace_back();
    WM_ASSIGN(command.name, reader.scalar(key, "commands"));
    WM_TRY(reader.fill(node, "command " + command.name + " must be a map", kCommandKeys, command));
    if (!node["run"]) WM_TRY(read_run(reader, node["run"], kCommandKeys[0], command));
    for (const auto& [name, values] : node["settings"].pairs()) WM_TRY(read_setting(reader, name, values, command));
  }
  return {};
}

Status read_projects(const YamlReader& reader, const YamlNode& map, const YamlKey&, McpConfig& config) {
  if (!map.is_map()) return reader.error(map, "projects must be a map");
  for (const auto& [key, node] : map.pairs()) {
    WM_ASSIGN(const auto name, reader.scalar(key, "projects"));
    WM_ASSIGN(const auto file, reader.scalar(node, name));
    std::error_code code;
    config.projects[name] = fs::canonical(config.folder / file, code);
    if (code) return reader.error(node, "there is no project file " + file);
  }
  return {};
}

Status read_folder(const YamlReader& reader, const YamlNode& node, const YamlKey& key, McpConfig& config) {
  WM_ASSIGN(const auto text, reader.scalar(node, key.key));
  WM_ASSIGN(config, default_mcp_config(config.folder / text));
  return {};
}

Status read_folders(const YamlReader& reader, const YamlNode& node, const YamlKey& key, McpConfig& config) {
  config.folders.clear();
  WM_ASSIGN(const auto listed, reader.texts(node, key.key));
  for (const auto& text : listed) {
    WM_ASSIGN(config.folders.emplace_back(), folder_at(config.folder / text));
  }
  return {};
}

/// "folder" first: the others are relative to it.
constexpr YamlKey kMcpKeys[] = {
    yaml_schema("warpmark.mcp/1"),       yaml_key<read_folder>("folder"),
    yaml_key<read_folders>("folders"),   yaml_key<&McpConfig::out>("out"),
    yaml_key<&McpConfig::db>("db"),      yaml_key<&McpConfig::longest_s>("longest", yaml::duration),
    yaml_key<read_commands>("commands"), yaml_key<read_projects>("projects"),
};

bool is_allowed(const McpConfig& config, const fs::path& file) {
  return std::ranges::any_of(config.folders, [&](const auto& folder) { return is_below(file, folder); });
}

/// The first link in a folder of profiles that leads to where nothing may be read; empty without one. A folder with too
/// many entries counts as one.
std::string stray_link(const McpConfig& config, const fs::path& folder) {
  constexpr int kMostEntries = 10'000;
  int entries = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (++entries > kMostEntries) return folder.string();
    std::error_code broken;
    if (!fs::is_symlink(entry->path(), broken)) continue;
    const auto target = fs::canonical(entry->path(), broken);
    if (!broken && !is_allowed(config, target)) return entry->path().string();
  }
  return {};
}

Error no_such_choice(const std::string& kind, const std::string& given, const std::vector<std::string>& names,
                     const std::string& otherwise) {
  return usage_error("there is no " + kind + " '" + given + "'",
                     names.empty() ? otherwise : "there is: " + join(names, ", "));
}

}  // namespace

std::vector<std::string> McpConfig::command_names() const {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> McpConfig::project_names() const {
  std::vector<std::string> names;
  for (const auto& [name, path] : projects) names.push_back(name);
  return names;
}

Result<McpConfig> default_mcp_config(const fs::path& folder) {
  WM_ASSIGN(const auto canonical, folder_at(folder));
  McpConfig config;
  config.folder = canonical;
  config.folders = {canonical};
  config.out = canonical / "warpmark-recordings";
  return config;
}

Result<McpConfig> parse_mcp_config(std::string_view text, std::string_view file, const fs::path& folder) {
  WM_ASSIGN(const auto root, read_yaml(text, file));
  WM_ASSIGN(auto config, default_mcp_config(folder));
  if (!root.is_null()) WM_TRY(YamlReader(file).fill(root, "the file must be a map", kMcpKeys, config));
  config.out = (config.folder / config.out).lexically_normal();
  const bool is_file = !config.db.empty() && config.db.find("://") == std::string::npos;
  if (is_file) config.db = (config.folder / config.db).lexically_normal();
  return config;
}

Result<McpConfig> load_mcp_config(const fs::path& file) {
  WM_ASSIGN(const auto text, read_file(file, kLargestYamlBytes));
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return parse_mcp_config(text, file.string(), folder);
}

Result<std::vector<std::string>> words_of_command(const McpConfig& config, const std::string& name,
                                                  const std::vector<std::pair<std::string, std::string>>& chosen) {
  const auto command = std::ranges::find_if(config.commands, [&](const McpCommand& each) { return each.name == name; });
  if (command == config.commands.end()) {
    return no_such_choice("command", name, config.command_names(),
                          "the configuration of this server allows none; its owner can add some");
  }
  std::vector<std::string> keys;
  for (const auto& [key, values] : command->settings) keys.push_back(key);
  for (const auto& [key, value] : chosen) {
    if (std::ranges::find(keys, key) == keys.end()) {
      return no_such_choice("setting of " + name, key, keys, "it has none");
    }
  }
  std::vector<std::string> words = command->run;
  for (const auto& [key, values] : command->settings) {
    std::string value = values.front();
    for (const auto& [given, text] : chosen) {
      if (given != key) continue;
      if (std::ranges::find(values, text) == values.end()) {
        return no_such_choice("value of " + key, text, values, "");
      }
      value = text;
    }
    for (auto& word : words) {
      for (std::size_t at = 0; (at = word.find("{" + key + "}", at)) != std::string::npos; at += value.size()) {
        word.replace(at, key.size() + 2, value);
      }
    }
  }
  return words;
}

Result<std::string> allowed_path(const McpConfig& config, const std::string& path) {
  std::error_code code;
  const auto file = fs::canonical(config.folder / path, code);
  if (!code && is_allowed(config, file)) {
    const auto stray = fs::is_directory(file, code) ? stray_link(config, file) : std::string();
    if (stray.empty()) return file.string();
    return usage_error("'" + path + "' holds a link that leads out of the folders, or too many files",
                       stray + "; name single files of it");
  }
  std::vector<std::string> folders;
  for (const auto& folder : config.folders) folders.push_back(folder.string());
  // Whether a file outside is there is not told.
  return usage_error("there is no file '" + path + "' that may be read", "files below: " + join(folders, ", "));
}

}  // namespace warpmark::apps
