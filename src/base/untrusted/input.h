// Opening what a user names to be read: it may be a device, a pipe, or anything under /proc.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace warpmark {

/// A descriptor that the caller closes. Data error for a folder, a device (/dev/zero has no end), and a pipe that
/// nobody writes into.
[[nodiscard]] Result<int> open_input(const std::filesystem::path& path);

}  // namespace warpmark
