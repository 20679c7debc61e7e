// `warpmark run -- CMD` and `warpmark run --project FILE`: a user's command measured as a session of its own, for the
// history that `warpmark check` and `warpmark trend` read.
#pragma once

#include <string>

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"
#include "store/store.h"
#include "validate/commands/command_spec.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// There are words after `--`, or a project.
[[nodiscard]] bool asks_for_command(const Context& context, const ParsedOptions& options);

/// How `warpmark run` ends.
struct SessionEnding {
  int code = 0;
  std::string why;  ///< with the first run that the cause holds for; empty for 0
};
/// The gravest cause of all runs.
[[nodiscard]] SessionEnding ending_of(const Session& session, bool strict);
[[nodiscard]] std::string problem_of(const Run& run);
/// The exit code, for which --goal counts where nothing else is wrong. Usage error for a goal of a metric that no run
/// has.
[[nodiscard]] Result<int> exit_with_goals(Context& context, const ParsedOptions& options, const Session& session,
                                          SessionEnding ending);

/// Usage error for options that only commands have.
[[nodiscard]] Status without_command_options(const ParsedOptions& options);

/// The command after `--` or of --project with its metrics, settings (--set) filled in. Usage error where there are
/// several (--sweep).
[[nodiscard]] Result<validate::CommandSpec> command_spec_of(const Context& context, const ParsedOptions& options);

/// Builds where the project says so, measures, and appends to `store` (nullptr keeps nothing) as rounds finish. The
/// session is incomplete if it was interrupted. Usage and data errors for commands, projects and settings that make no
/// sense.
[[nodiscard]] Result<Session> measure_command(Context& context, const ParsedOptions& options, store::Store* store);

/// The whole verb: measures, prints, writes files. Returns the exit code.
[[nodiscard]] Result<int> run_users_command(Context& context, const ParsedOptions& options, const std::string& format);

}  // namespace warpmark::apps
