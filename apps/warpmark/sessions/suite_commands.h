// The commands of a suite: collectives, loads, evaluations and whatever else measures. One run gives one document.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/run.h"
#include "warpmark/command.h"
#include "workloads/suite.h"

namespace warpmark::apps {

/// Usage error, with the place in the suite, for what is no verb that measures and stores its results.
[[nodiscard]] Status check_suite_commands(std::span<const workloads::SuiteCommand> commands);

/// Indices of runs of one command; those of the next begin this much higher.
inline constexpr std::int64_t kRunsOfCommand = 10'000;

/// Which command of the suite a run belongs to, where those of commands begin at `first_index`.
[[nodiscard]] std::int64_t command_of(const Run& run, std::int64_t first_index);

/// Runs one command in a process of its own and returns its results as runs of this session. A command that gave none
/// is one run with the reason. Its progress goes to context.err. Environment error if it was interrupted.
[[nodiscard]] Result<std::vector<Run>> run_suite_command(Context& context, const workloads::SuiteCommand& command,
                                                         const std::string& session_id, std::int64_t first_index);

}  // namespace warpmark::apps
