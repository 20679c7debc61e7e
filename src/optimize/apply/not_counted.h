// Why a run that ended well does not count: its knobs were not in force, or leave too little memory. Pure.
#pragma once

#include <string>
#include <vector>

#include "optimize/knob.h"
#include "workers/program_report.h"

namespace warpmark::optimize {

/// Of the program's main processes, the first of which tells for all what memory is left; empty: the run counts. What
/// acts through the hook must be told by it; variables and launchers are read back where the hook is loaded.
[[nodiscard]] std::string why_not_counted(const Settings& settings,
                                          const std::vector<const workers::ProgramReport*>& main);

}  // namespace warpmark::optimize
