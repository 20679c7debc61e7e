#include "warpmark/terminal/user_config.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml_keys.h"
#include "warpmark/terminal/every_verb_options.h"

namespace warpmark::apps {
namespace {

/// Empty for none. Environment error if WARPMARK_CONFIG names a file that is not there.
Result<std::string> config_file(const Context& context) {
  std::error_code none;
  if (const char* named = context.environment("WARPMARK_CONFIG"); named != nullptr) {
    if (*named == '\0' || std::filesystem::exists(named, none)) return std::string(named);
    return environment_error(std::string("there is no file ") + named + ", which WARPMARK_CONFIG names",
                             "unset WARPMARK_CONFIG, or name a file that exists");
  }
  std::filesystem::path folder;
  if (const char* config = context.environment("XDG_CONFIG_HOME"); config != nullptr && *config == '/') {
    folder = config;
  } else if (const char* home = context.environment("HOME"); home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".config";
  }
  const auto file = folder / "warpmark" / "config.yaml";
  return folder.empty() || !std::filesystem::is_regular_file(file, none) ? std::string() : file.string();
}

/// What every verb takes and a file may set, by long names.
const std::vector<OptionSpec>& of_every_verb() {
  static const auto options = [] {
    std::vector<OptionSpec> found;
    for (OptionSpec option : every_verb_options()) {
      option.name = long_name(option);
      if (std::string_view(option.name) != "--version") found.push_back(option);
    }
    return found;
  }();
  return options;
}

const OptionSpec* find_option(const Command& command, const std::string& key) {
  const std::string name = "--" + key;
  const auto is_it = [&](const OptionSpec& option) { return option.name == name; };
  const auto found = std::ranges::find_if(command.options, is_it);
  if (found != command.options.end()) return &*found;
  const auto common = std::ranges::find_if(of_every_verb(), is_it);
  return common == of_every_verb().end() ? nullptr : &*common;
}

/// The options without their dashes.
std::vector<std::string> keys_of(const Command& command) {
  std::vector<std::string> keys;
  for (const auto& option : command.options) keys.push_back(std::string(option.name).substr(2));
  for (const auto& option : of_every_verb()) keys.push_back(std::string(option.name).substr(2));
  return keys;
}

std::vector<std::string> known_keys() {
  std::set<std::string> keys;
  for (const Command* command : commands()) {
    keys.insert(command->id);
    for (auto& key : keys_of(*command)) keys.insert(std::move(key));
  }
  return {keys.begin(), keys.end()};
}

/// As only_keys, without a list of hundreds.
Status only_known_keys(const YamlNode& root, const YamlReader& reader) {
  const auto known = known_keys();
  for (const auto& [node, value] : root.pairs()) {
    const auto key = node.text();
    if (std::ranges::find(known, key) != known.end() || !nearest(key, known).empty()) continue;
    return reader.error(node, "unknown key '" + key + "'", "a key is an option without its dashes, or a verb");
  }
  return reader.only_keys(root, known);
}

class Defaults {
 public:
  Defaults(const Context& context, const Command& command, const std::vector<std::string>& given) : command_(command) {
    for (const auto& word : given) {
      if (word == "--") break;
      taken_.insert(word.substr(0, word.find('=')));
    }
    const char* database = context.environment("WARPMARK_DB");
    if (database != nullptr && *database != '\0') taken_.insert("--db");
  }

  /// The verb's own section first: what it sets, the general keys do not.
  Result<std::vector<std::string>> read(const YamlNode& root, const YamlReader& reader) {
    if (root.is_null()) return words_;
    if (!root.is_map()) return reader.error(root, "the file must be a map of options");
    WM_TRY(only_known_keys(root, reader));
    if (const YamlNode own = root[command_.id]; own.is_map()) {
      WM_TRY(reader.only_keys(own, keys_of(command_)));
      WM_TRY(add_all(own, reader));
    }
    WM_TRY(add_all(root, reader));
    return words_;
  }

 private:
  Status add_all(const YamlNode& map, const YamlReader& reader) {
    std::set<std::string> added;
    for (const auto& [key, value] : map.pairs()) {
      const OptionSpec* option = find_option(command_, key.text());
      if (option == nullptr || value.is_map() || taken_.contains(option->name)) continue;
      WM_TRY(add(*option, value, reader));
      added.insert(option->name);
    }
    taken_.merge(added);
    return {};
  }

  Status add(const OptionSpec& option, const YamlNode& value, const YamlReader& reader) {
    if (std::string_view(option.value).empty()) {
      bool on = false;
      WM_TRY(reader.value(value, {option.name}, on));
      if (on) words_.emplace_back(option.name);
      return {};
    }
    WM_ASSIGN(const auto texts, reader.texts(value, option.name));
    if (texts.size() > 1 && !option.use.repeatable) {
      return reader.error(value, std::string(option.name) + " takes one value", "write it without a list");
    }
    for (const auto& text : texts) words_.push_back(std::string(option.name) + "=" + text);
    return {};
  }

  const Command& command_;
  std::set<std::string> taken_;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> configured_words(const Context& context, const Command& command,
                                                  const std::vector<std::string>& given) {
  WM_ASSIGN(const auto file, config_file(context));
  // A verb that starts warpmark again says all that it means.
  ::setenv("WARPMARK_CONFIG", "", 1);
  if (file.empty()) return std::vector<std::string>();
  WM_ASSIGN(const auto text, read_file(file, kLargestYamlBytes));
  const YamlReader reader(file);
  WM_ASSIGN(const auto root, read_yaml(text, file));
  return Defaults(context, command, given).read(root, reader);
}

}  // namespace warpmark::apps
