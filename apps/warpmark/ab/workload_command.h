// A workload as a command: `warpmark run` in a fresh process, one round, its results in a file. Fresh processes give
// each sample its own memory layout and library state, which samples of one process share.
#pragma once

#include <filesystem>

#include "base/options.h"
#include "base/result.h"
#include "measure/experiment.h"
#include "validate/commands/command_spec.h"

namespace warpmark::apps {

/// Of the first positional; `results` is where the process writes. Its metric is the workload's primary one. Takes
/// --device and --timeout from the options. Usage error for an unknown workload.
[[nodiscard]] Result<validate::CommandSpec> workload_command(const ParsedOptions& options,
                                                             const measure::Config& config,
                                                             const std::filesystem::path& results);

}  // namespace warpmark::apps
