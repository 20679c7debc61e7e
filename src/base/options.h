// Options of a verb as a table: the same rows parse the command line and make --help, the shell completions and
// docs/cli. Parsing is CLI11's.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// One option. `value` is the placeholder of its argument; an option without one is a flag.
struct OptionSpec {
  const char* name;   ///< "--suite"
  const char* value;  ///< "NAME"; "[FILE]" if it may be left out, which means "-"; "" for a flag
  const char* help;   ///< one line
  bool repeatable = false;
  /// What a shell can complete the value with: words separated by spaces, or "<workloads>", "<suites>", "<devices>",
  /// "<files>", "<reporters>", "<runs>".
  const char* completion = "";
};

/// What stands on the command line beside the options.
struct PositionalSpec {
  const char* name = "";  ///< "NAME|GLOB"; empty if the verb takes none
  const char* help = "";
  bool repeatable = false;
  const char* completion = "";
};

/// A word that people try, of another tool or of a document, and what is meant.
struct Synonym {
  std::string word;   ///< "--output"
  std::string meant;  ///< an option, which is suggested to verbs that have it; or a sentence
};

class ParsedOptions {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  /// The last value given, or `otherwise`.
  [[nodiscard]] std::string get(std::string_view name, std::string_view otherwise = "") const;
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& positionals() const { return positionals_; }

  /// All that was given, by name; a flag has one empty value.
  [[nodiscard]] const std::map<std::string, std::vector<std::string>>& given() const { return values_; }

  void add(const std::string& name, std::string value) { values_[name].push_back(std::move(value)); }
  /// Instead of what was given.
  void replace(const std::string& name, std::string value) { values_[name] = {std::move(value)}; }
  void add_positional(std::string value) { positionals_.push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

/// The actions that an option is for, by its help: "run: ..." and "server: ...; selftest: ..." begin with names of
/// `actions`. Empty for all.
[[nodiscard]] std::vector<std::string> actions_of(const OptionSpec& option, std::span<const std::string> actions);

/// Usage error for an option that means nothing to this action of a verb whose positional completes to actions.
[[nodiscard]] Status check_action(std::span<const OptionSpec> options, const PositionalSpec& positional,
                                  const ParsedOptions& parsed, const std::string& action);

/// Usage error naming the word and suggesting an option, by the synonyms or the nearest, and for an option that the
/// action which comes first would pass over. `--help` is always accepted and appears as "--help".
[[nodiscard]] Result<ParsedOptions> parse_options(std::span<const OptionSpec> options, const PositionalSpec& positional,
                                                  std::span<const std::string> words,
                                                  std::span<const Synonym> synonyms = {});

}  // namespace warpmark
