// The program that is optimized, and what settings make of it: variables, arguments, values in files, and what the hook
// is asked for.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/knob.h"
#include "optimize/user_knob.h"
#include "workers/hooked_program.h"

namespace warpmark::optimize {

struct Program {
  std::vector<std::string> words;
  std::string directory;  ///< where it runs; empty: ours
  workers::NamedValues environment;
  std::vector<UserKnob> user_knobs;
};

/// Usage error for a setting that no knob is for.
[[nodiscard]] Result<workers::HookedCommand> command_with(const Program& program, const Settings& settings);

/// Sets the values in files of the program's copy, from the originals, and applies patches. Data error where a pattern
/// is not there exactly once or a patch does not fit; nothing to do without such knobs.
[[nodiscard]] Status set_file_values(const Program& program, const Settings& settings,
                                     const std::filesystem::path& original);

}  // namespace warpmark::optimize
