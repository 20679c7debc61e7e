// What is done when the program has come to its end, in the folder in which it ran.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workers/hooked_program.h"

namespace warpmark::optimize {

struct Afterwards {
  std::vector<std::vector<std::string>> commands;
  std::string file;  ///< whose text is kept; empty: none
};

/// {"said": `printed` and what the commands printed, "codes": their exit codes, "file": the file's text}. A file that
/// is not there is empty. Folder, variables and deadline are those of the `command` that ran.
[[nodiscard]] Result<Json> do_afterwards(const Afterwards& afterwards, const workers::HookedCommand& command,
                                         const std::string& printed);

}  // namespace warpmark::optimize
