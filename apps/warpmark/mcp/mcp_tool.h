// A tool of `warpmark mcp`: a descriptor whose table of properties makes the JSON Schema that agents see and checks
// what they send, and a function that makes of it the command lines of warpmark that answer. Adding a tool is a file in
// tools/ and a line in tools/catalog.cpp.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/catalog.h"
#include "base/json.h"
#include "model/fields/options.h"
#include "warpmark/mcp/mcp_config.h"

namespace warpmark::apps {

enum class McpKind {
  option,    ///< as the option of the verb says
  text,      ///< any text of one line
  name,      ///< letters, digits and . _ : + * ? -, not beginning with -
  quantity,  ///< a number or a text such as "10s", "2%"
  whole,     ///< a whole number from 0 on
  count,     ///< a whole number from 1 on
  flag,      ///< an option without a value
  path,      ///< of a file that may be read
  paths,     ///< one or more of them
  names,     ///< a list of names
  settings,  ///< an object of texts, numbers and truth values
  command,   ///< a command of the configuration
  project,   ///< a project of the configuration
  variant,   ///< {"command": NAME, "settings": {...}}
};

/// With a name alone it hands an option of the verb on: "warmup_steps" is --warmup-steps, with its type and help.
struct McpProperty {
  const char* name;
  McpKind kind = McpKind::option;
  const char* help = nullptr;  ///< nullptr: that of the option
  const char* option = "";     ///< the verb's, if one is simply handed on that has another name or help
  bool required = false;
  const char* choices = "";  ///< words separated by spaces
};

/// Arguments of a call that fit the tool's properties.
class McpArguments {
 public:
  McpArguments(Json values, const McpConfig& config) : values_(std::move(values)), config_(config) {}
  [[nodiscard]] bool has(const char* name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(const char* name, const std::string& otherwise = "") const;
  [[nodiscard]] std::vector<std::string> texts(const char* name) const;
  /// An object's entries as texts.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> settings(const char* name) const;
  /// The words of `command` with `settings` of the same call.
  [[nodiscard]] Result<std::vector<std::string>> command(const char* name = "command",
                                                         const char* settings = "settings") const;
  /// The words of a variant.
  [[nodiscard]] Result<std::vector<std::string>> variant(const char* name) const;
  [[nodiscard]] const McpConfig& config() const { return config_; }

 private:
  Json values_;
  const McpConfig& config_;
};

/// What is run to answer a call: command lines of warpmark without the program's name, one after the other. A call ends
/// with the first that fails without an answer.
struct McpPlan {
  std::vector<std::vector<std::string>> steps;
  bool json_is_printed = false;  ///< by the last step; otherwise it is written where kMcpJsonFile stands
  bool rows = false;             ///< the answer is rows of a query, which the text shows as a table
  std::string note;              ///< a line for the text, such as where a recording is
};
inline constexpr const char* kMcpJsonFile = "{json}";

struct McpTool {
  const char* id;
  const char* title;
  const char* summary;  ///< for the model that chooses
  std::span<const McpProperty> properties;
  const char* verb = "";     ///< that it runs; empty: the one of its name
  bool changes_nothing;      ///< neither files nor stored results, and runs no command
  const char* answers = "";  ///< schemas of its answers, separated by spaces; empty: rows
  Result<McpPlan> (*plan)(const McpArguments& arguments);
};

[[nodiscard]] Catalog<McpTool> mcp_tools();

/// Of the catalog of verbs, which has it. In a file of its own, so that a fuzz target need not link every verb.
[[nodiscard]] const OptionSpec& option_of_verb(const char* verb, const std::string& name);

/// The tool as tools/list shows it.
[[nodiscard]] Json mcp_tool_json(const McpTool& tool, const McpConfig& config);

/// Usage error that names the property and says what it may be.
[[nodiscard]] Result<McpArguments> read_mcp_arguments(const McpTool& tool, const Json& given, const McpConfig& config);

/// The words of a verb with the options of all properties that are simply handed on.
[[nodiscard]] std::vector<std::string> mcp_words(const char* verb, std::span<const McpProperty> properties,
                                                 const McpArguments& arguments);

/// Puts a command behind the options of a verb.
void add_command(std::vector<std::string>& words, const std::vector<std::string>& command);

}  // namespace warpmark::apps
