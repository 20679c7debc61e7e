#include "warpmark/mcp/mcp_config.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"

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

struct McpReader : YamlReader {
  using YamlReader::YamlReader;

  Result<McpCommand> command(const std::string& name, const YAML::Node& node) const {
    if (!node.IsMap()) return error(node, "command " + name + " must be a map", "with run: [PROGRAM, ARGUMENT]");
    WM_TRY(only_keys(node, {"run", "settings"}));
    McpCommand read{.name = name, .run = {}, .settings = {}};
    if (!node["run"] || !node["run"].IsSequence() || node["run"].size() == 0) {
      return error(node, "command " + name + " needs run: a list of words", "such as run: [python3, train.py]");
    }
    for (const auto& word : node["run"]) {
      WM_ASSIGN(auto text, scalar(word, "run"));
      if (text == "--") return error(word, "a word of run cannot be --", "it separates commands");
      read.run.push_back(std::move(text));
    }
    if (read.run.size() == 1 && read.run[0].find(' ') != std::string::npos) {
      return error(node["run"], "run is one word with a blank in it", "give the words as a list of their own");
    }
    for (const auto& setting : node["settings"]) WM_TRY(add_setting(setting, read));
    return read;
  }

  Status add_setting(const std::pair<YAML::Node, YAML::Node>& setting, McpCommand& read) const {
    WM_ASSIGN(auto key, scalar(setting.first, "settings"));
    WM_ASSIGN(auto values, texts(setting.second, key));
    if (values.empty()) return error(setting.second, "setting " + key + " has no values to choose from");
    if (std::find(values.begin(), values.end(), "--") != values.end()) {
      return error(setting.second, "a setting cannot be --", "it separates commands");
    }
    const std::string place = "{" + key + "}";
    const bool used = std::any_of(read.run.begin(), read.run.end(),
                                  [&](const auto& word) { return word.find(place) != std::string::npos; });
    if (!used) return error(setting.first, "run has no " + place, "write it where the value belongs");
    read.settings.emplace_back(std::move(key), std::move(values));
    return {};
  }

  Status names(const YAML::Node& root, McpConfig& config) const {
    for (const auto& entry : root["commands"]) {
      WM_ASSIGN(const auto name, scalar(entry.first, "commands"));
      WM_ASSIGN(auto read, command(name, entry.second));
      config.commands.push_back(std::move(read));
    }
    for (const auto& entry : root["projects"]) {
      WM_ASSIGN(const auto name, scalar(entry.first, "projects"));
      WM_ASSIGN(const auto file, scalar(entry.second, name));
      std::error_code code;
      const auto path = fs::canonical(config.folder / file, code);
      if (code) return error(entry.second, "there is no project file " + file);
      config.projects[name] = path;
    }
    return {};
  }

  Result<McpConfig> read(const YAML::Node& root, const fs::path& folder) const {
    WM_ASSIGN(auto config, default_mcp_config(folder));
    if (!root || root.IsNull()) return config;
    if (!root.IsMap()) return error(root, "the file must be a map");
    WM_TRY(schema(root, "warpmark.mcp/1"));
    WM_TRY(only_keys(root, {"schema", "folder", "folders", "out", "db", "longest", "commands", "projects"}));
    for (const char* key : {"commands", "projects"}) {
      if (root[key] && !root[key].IsMap()) return error(root[key], std::string(key) + " must be a map");
    }
    if (root["folder"]) {
      WM_ASSIGN(const auto text, scalar(root["folder"], "folder"));
      WM_ASSIGN(config, default_mcp_config(folder / text));
    }
    if (root["folders"]) {
      config.folders.clear();
      WM_ASSIGN(const auto listed, texts(root["folders"], "folders"));
      for (const auto& text : listed) {
        WM_ASSIGN(auto path, folder_at(config.folder / text));
        config.folders.push_back(std::move(path));
      }
    }
    if (root["out"]) {
      WM_ASSIGN(const auto text, scalar(root["out"], "out"));
      config.out = (config.folder / text).lexically_normal();
    }
    if (root["db"]) {
      WM_ASSIGN(config.db, scalar(root["db"], "db"));
      if (config.db.find("://") == std::string::npos) config.db = (config.folder / config.db).lexically_normal();
    }
    WM_TRY(maybe(root, "longest", config.longest_s, &YamlReader::duration_s));
    WM_TRY(names(root, config));
    return config;
  }
};

bool is_allowed(const McpConfig& config, const fs::path& file) {
  return std::any_of(config.folders.begin(), config.folders.end(),
                     [&](const auto& folder) { return is_below(file, folder); });
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
  return read_yaml(text, file, [&](const YAML::Node& root) { return McpReader(file).read(root, folder); });
}

Result<McpConfig> load_mcp_config(const fs::path& file) {
  WM_ASSIGN(const auto text, read_file(file, kLargestYamlBytes));
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return parse_mcp_config(text, file.string(), folder);
}

Result<std::vector<std::string>> words_of_command(const McpConfig& config, const std::string& name,
                                                  const std::vector<std::pair<std::string, std::string>>& chosen) {
  const auto command = std::find_if(config.commands.begin(), config.commands.end(),
                                    [&](const McpCommand& each) { return each.name == name; });
  if (command == config.commands.end()) {
    return no_such_choice("command", name, config.command_names(),
                          "the configuration of this server allows none; its owner can add some");
  }
  std::vector<std::string> keys;
  for (const auto& [key, values] : command->settings) keys.push_back(key);
  for (const auto& [key, value] : chosen) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return no_such_choice("setting of " + name, key, keys, "it has none");
    }
  }
  std::vector<std::string> words = command->run;
  for (const auto& [key, values] : command->settings) {
    std::string value = values.front();
    for (const auto& [given, text] : chosen) {
      if (given != key) continue;
      if (std::find(values.begin(), values.end(), text) == values.end()) {
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
