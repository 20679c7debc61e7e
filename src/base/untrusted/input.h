// Opening what a user names to be read: it may be a device, a pipe, or anything under /proc.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark {

/// A descriptor that the caller closes. Data error for a folder, a device (/dev/zero has no end), and a pipe that
/// nobody writes into.
[[nodiscard]] Result<int> open_input(const std::filesystem::path& path);

// Text from elsewhere, made fit to be shown.

/// The text with U+FFFD for every byte that is no UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The text with "***" for a secret. One shorter than 8 characters is hidden as a whole word only, or it would change
/// words that have nothing to do with it.
[[nodiscard]] std::string hide_secret(std::string text, std::string_view secret);

}  // namespace warpmark
