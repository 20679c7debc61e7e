// A command as people write it in one line, as words. No shell runs it, so what only a shell understands is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::validate {

/// Blanks separate, '...' and "..." keep together, a backslash takes the next character as it is. Nothing is expanded.
/// Usage error for a quote that is not closed, for no words, and for what needs a shell outside quotes: | && ; < > $(
/// $NAME, a pattern of file names as a word (*.py), and a first word NAME=VALUE.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

/// Of words that are separate already. Usage error for a command that begins with NAME=VALUE, which only a shell takes
/// for a variable, and for an operator of a shell between words (`echo a '|' wc`), unless it is the value of an option
/// (`cut -d '|' file`) or the last word.
[[nodiscard]] Status check_words(const std::vector<std::string>& words);

}  // namespace warpmark::validate
