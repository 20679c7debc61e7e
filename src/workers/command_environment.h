// Variables that a command changes itself: `env -i python`, `env PYTHONPATH=src python`, `sh -c "PYTHONPATH=src ..."`.
#pragma once

#include <string>
#include <vector>

#include "workers/hooked_program.h"

namespace warpmark::workers {

/// The command with the variables kept and the hook's folder put in front of each PYTHONPATH that it sets. `variables`
/// are those of hook_variables() and others that must reach the program.
[[nodiscard]] std::vector<std::string> keep_variables(std::vector<std::string> words, const std::string& hook_folder,
                                                      const NamedValues& variables);

}  // namespace warpmark::workers
