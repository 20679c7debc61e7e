// A command as one line of text, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark {

/// The words as a line that a shell reads as them again.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

/// The words of a line, with the quotes and backslashes of POSIX shells and nothing else of theirs: no variables, pipes
/// or patterns. Usage error for a quote without its end.
[[nodiscard]] Result<std::vector<std::string>> words_of_line(std::string_view line);

}  // namespace warpmark
