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

/// The gravest result that is not good, with its reason; empty if all are.
[[nodiscard]] std::string first_problem(const Session& session);

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
