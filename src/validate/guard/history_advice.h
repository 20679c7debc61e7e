// What to measure where a check has too little history. Pure.
#pragma once

#include <string>

#include "model/check.h"

namespace warpmark::validate {

/// The command that measures what the history of the branch lacks: `command`, where it measures; empty where nothing is
/// missing, or where the branch has no history at all.
[[nodiscard]] std::string how_to_complete_history(const Check& check, const std::string& command);

}  // namespace warpmark::validate
