// Plain text helpers without domain knowledge.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// ASCII alone, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Letters of ASCII alone, whatever the locale.
[[nodiscard]] constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
[[nodiscard]] std::string ascii_lower(std::string_view text);

/// Fields between separators; an empty text has none.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// Shell-style match of a whole text: '*' any run of characters, '?' any one character.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);
[[nodiscard]] bool is_glob(std::string_view pattern);

/// Levenshtein distance, in edits.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to a misspelt word, or empty if none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// With its first letter, if it is one of ASCII, in upper case.
[[nodiscard]] std::string capitalized(std::string text);

/// A word that is safe to paste into a POSIX shell.
[[nodiscard]] std::string shell_quote(std::string_view word);

/// Number of terminal columns a UTF-8 text takes: two for a wide character (East Asian scripts, emoji), none for one
/// that is drawn over the character before it.
[[nodiscard]] std::size_t display_width(std::string_view utf8);

/// The words as a line that a shell reads as them again, but for passwords in URLs: those are hidden
/// (base/untrusted/input.h).
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

/// Blanks separate, '...' and "..." keep together, a backslash takes the next character as it is. Nothing is expanded.
/// Usage error for a quote that is not closed; `check` is asked of the place of each character outside quotes.
[[nodiscard]] Result<std::vector<std::string>> words_of_line(std::string_view text,
                                                             const std::function<Status(std::size_t)>& check = {});

}  // namespace warpmark
