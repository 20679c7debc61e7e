// The command that a verb measures: from --project, or given on the command line; and where a verb keeps what an
// interrupted measurement goes on with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "validate/commands/command_spec.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The words behind each `--` of the command line; empty without any.
[[nodiscard]] std::vector<std::vector<std::string>> commands_after_dashes(const std::vector<std::string>& words);

/// All words behind the first `--`: one command, which may have a `--` of its own.
[[nodiscard]] std::vector<std::string> command_after_dashes(const std::vector<std::string>& words);

/// A command given by hand: several words, or one text that is split at blanks unless it is the name of a file; with
/// --shell what /bin/sh gets.
[[nodiscard]] Result<std::vector<std::string>> words_of(const ParsedOptions& options,
                                                        const std::vector<std::string>& given);

/// What --project (default warpmark.yaml) says, with --timeout.
[[nodiscard]] Result<validate::CommandSpec> project_spec(const ParsedOptions& options);

/// A command given by hand, as one text or as words, with --shell and --timeout; measured as --project says if it is
/// given, else by its wall time.
[[nodiscard]] Result<validate::CommandSpec> given_command(const ParsedOptions& options,
                                                          const std::vector<std::string>& words);

/// Adds the gates of --accuracy and --accuracy-command. Usage error where no metric is left beside them.
[[nodiscard]] Status add_gates(const ParsedOptions& options, validate::CommandSpec& spec);

/// What a repetition of a measurement must have in common with an interrupted one.
[[nodiscard]] std::string identity_of(const validate::CommandSpec& spec);

/// 16 hexadecimal digits; for names of files.
[[nodiscard]] std::string hash_of(const std::string& text);

/// Where journals and worktrees stand: beside the database.
[[nodiscard]] Result<std::filesystem::path> state_folder(const Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
