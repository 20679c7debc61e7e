// Defaults that a person sets once: ~/.config/warpmark/config.yaml.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Words such as "--effect=2%" that the file adds to this verb's command line, without those that `given` already has.
/// The file is WARPMARK_CONFIG (empty: none), else warpmark/config.yaml in XDG_CONFIG_HOME or ~/.config; without a file
/// there are none. Data error for a key that is neither a verb nor an option. `--db` gives way to WARPMARK_DB.
[[nodiscard]] Result<std::vector<std::string>> configured_words(const Context& context, const Command& command,
                                                                const std::vector<std::string>& given);

}  // namespace warpmark::apps
