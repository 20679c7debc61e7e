// A command as one line of text, and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// The words as a line that a shell reads as them again.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

/// Blanks separate, '...' and "..." keep together, a backslash takes the next character as it is. Nothing is expanded.
/// Usage error for a quote that is not closed; `check` is asked of the place of each character outside quotes.
[[nodiscard]] Result<std::vector<std::string>> words_of_line(std::string_view text,
                                                             const std::function<Status(std::size_t)>& check = {});

}  // namespace warpmark
