// A copy of the folder in which a program runs.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace warpmark::optimize {

/// Anew: what the run before left in `to`, such as a checkpoint, must not be found by this one. `without` stands within
/// `from` where the database does, and is left out. Environment error where it cannot be copied or is above 4 GiB.
[[nodiscard]] Status copy_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                                 const std::filesystem::path& without);

}  // namespace warpmark::optimize
