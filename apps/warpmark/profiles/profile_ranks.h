// `warpmark profile --ranks`: its options, and what it says of what the ranks sent.
#pragma once

#include <filesystem>
#include <span>

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Options that do nothing without --ranks or --hosts are refused.
Status check_rank_options(const ParsedOptions& options);

/// Starts and collects ranks; one file of all that came. `specs` are the verb's options, of which each rank gets those
/// that say how to record. The exit code is the programs'.
Result<int> record_ranks(Context& context, const ParsedOptions& options, std::span<const OptionSpec> specs,
                         const std::filesystem::path& out);

}  // namespace warpmark::apps
