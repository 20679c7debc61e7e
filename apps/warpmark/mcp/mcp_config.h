// What an agent may do through `warpmark mcp` (warpmark.mcp/1): the folders whose files it may name, the commands it
// may have measured, and the project files whose commands it may have run. What is not named here cannot be asked for.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::apps {

struct McpCommand {
  std::string name;
  std::vector<std::string> run;  ///< started as it is, without a shell; {SETTING} stands for one of its values
  std::vector<std::pair<std::string, std::vector<std::string>>>
      settings;  ///< values that may be chosen; the first is the default
};

struct McpConfig {
  std::filesystem::path folder;                ///< where commands run and relative paths begin; absolute
  std::vector<std::filesystem::path> folders;  ///< files below these may be named; canonical
  std::filesystem::path out;                   ///< recordings are written here; absolute
  std::string db;                              ///< empty: as every verb finds it
  double longest_s = 3600;                     ///< a call is ended after this
  std::vector<McpCommand> commands;
  std::map<std::string, std::filesystem::path> projects;  ///< name to warpmark.yaml

  [[nodiscard]] std::vector<std::string> command_names() const;
  [[nodiscard]] std::vector<std::string> project_names() const;
};

/// Files below `folder` alone, and no commands.
[[nodiscard]] Result<McpConfig> default_mcp_config(const std::filesystem::path& folder);

/// Relative paths are relative to `folder`, which is the file's own. Data error naming the line; environment error for
/// a folder that is not there.
[[nodiscard]] Result<McpConfig> parse_mcp_config(std::string_view text, std::string_view file,
                                                 const std::filesystem::path& folder);
[[nodiscard]] Result<McpConfig> load_mcp_config(const std::filesystem::path& file);

/// The words of a command with a value for each of its settings. Usage error that lists what may be chosen.
[[nodiscard]] Result<std::vector<std::string>> words_of_command(
    const McpConfig& config, const std::string& name, const std::vector<std::pair<std::string, std::string>>& chosen);

/// The file as an absolute path without links. Usage error if it is not below one of the folders, or not there.
[[nodiscard]] Result<std::string> allowed_path(const McpConfig& config, const std::string& path);

}  // namespace warpmark::apps
