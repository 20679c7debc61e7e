// A verb of the command line: a descriptor whose tables parse, explain and complete. Adding a verb is a file that
// defines a const Command, and a line in catalog.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "base/catalog.h"
#include "base/result.h"
#include "model/exit_code.h"
#include "model/fields/options.h"

namespace warpmark::report {
struct Shown;
}

namespace warpmark::apps {

[[nodiscard]] int exit_code_of(const Error& error);

/// What a code means in any verb, without a full stop; empty for success and interruption.
[[nodiscard]] const char* meaning_of_exit(int code);

/// What a verb may know of the world; tests give their own.
struct Context {
  std::ostream& out;  ///< results
  std::ostream& err;  ///< progress and errors
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  ///< on `out`: a terminal, and NO_COLOR is not set
  bool unicode = true;
  bool verbose = false;                          ///< -v: text shows what other formats fold away
  bool quiet = false;                            ///< -q: text is the headline and the verdicts
  int width = 80;                                ///< columns of `out`
  bool whole_tables = false;                     ///< `out` is a pipe or a file, and nobody set COLUMNS
  const char* (*environment)(const char* name);  ///< value, or nullptr
  std::atomic<bool>& interrupted;
  std::vector<std::string> words;  ///< the command line as given, without the program's name
  /// Gets what show() would print, for a verb that makes one report of several.
  std::function<void(const report::Shown&)> collect{};
  std::string why{};  ///< why the exit code of this verb is not 0, for the last line; empty: what the code means
};

/// The exit code of a verb, with its reason in one line unless it is success.
[[nodiscard]] int exit_because(Context& context, int code, std::string why);

/// The exit code of a program that a verb ran, as the verb's own.
[[nodiscard]] int command_exit_code(Context& context, int code);

/// A heading in the help of a verb with many options.
struct OptionGroup {
  const char* first;  ///< the option that it stands above
  const char* heading;
};

struct Command {
  const char* id;
  const char* summary;  ///< one line
  const char* details;  ///< paragraphs shown under the usage line
  std::span<const OptionSpec> options;
  std::span<const OptionGroup> groups = {};  ///< in the order of the options
  PositionalSpec positional;
  const char* examples;  ///< one command a line
  /// Returns the exit code. Errors are returned and printed by main.
  Result<int> (*run)(Context& context, const ParsedOptions& options);
  /// The words behind the verb in its own options, where it takes command lines of other tools; null for most.
  Result<std::vector<std::string>> (*own_words)(Context& context, std::span<const std::string> words) = nullptr;
};

[[nodiscard]] Catalog<Command> commands();

/// What each of commands() is for: "measure", "find out why", ... Verbs of one group are listed together.
[[nodiscard]] std::span<const char* const> verb_groups();

/// The command line as it can be pasted into a shell, without passwords of URLs: for
/// results and reports.
[[nodiscard]] std::string command_line_of(const Context& context);

/// Parses and runs a whole command line; prints errors to context.err. Returns the exit code.
[[nodiscard]] int run_command_line(Context& context);

}  // namespace warpmark::apps
