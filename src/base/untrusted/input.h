// Opening what a user names to be read: it may be a device, a pipe, or anything under /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark {

/// A descriptor that the caller closes. Data error for a folder, a device (/dev/zero has no end), and a pipe that
/// nobody writes into.
[[nodiscard]] Result<int> open_input(const std::filesystem::path& path);

// Text from elsewhere, made fit to be shown.

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};

/// The first one of a text that is not empty.
[[nodiscard]] Character character_at(std::string_view text);

/// False for what moves a cursor, colors a terminal or turns the direction of text: control characters (ASCII and C1),
/// marks and overrides of direction, separators of lines and paragraphs.
[[nodiscard]] bool may_be_shown(std::uint32_t code);

/// The text with U+FFFD for every byte that is no UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The text with `instead` for every character that may not be shown, and U+FFFD for every byte that is no UTF-8. Line
/// ends and tabs stay.
[[nodiscard]] std::string shown_text(std::string_view text, std::string_view instead = "\uFFFD");

/// The text with "***" for a secret. One shorter than 8 characters is hidden as a whole word only, or it would change
/// words that have nothing to do with it.
[[nodiscard]] std::string hide_secret(std::string text, std::string_view secret);

/// The text with "***" for the passwords of all URLs in it, as in "postgresql://me:secret@host/db?password=secret".
[[nodiscard]] std::string hide_password(std::string_view text);

}  // namespace warpmark
