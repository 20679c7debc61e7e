// A command as one line of text.
#pragma once

#include <string>
#include <vector>

namespace warpmark {

/// The words as a line that a shell reads as them again.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

}  // namespace warpmark
