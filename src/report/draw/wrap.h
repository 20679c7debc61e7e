// Lines no wider than a terminal. A word is never broken: one that is wider than the line has a line of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmark::report {

/// Words on lines of at most `width` terminal columns. At least one line.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Each line of a text wrapped below its indent; an indented line of `warpmark` is a command and goes through
/// wrap_code(). Ends with a newline unless it is empty.
[[nodiscard]] std::string wrap_lines(std::string_view text, std::size_t width);

/// A line of code on lines that can be pasted: broken by a backslash at blanks that are outside of quotes, with a
/// comment at its end above it. Comments and lines with columns, which have several blanks in a row, stay as they are.
[[nodiscard]] std::vector<std::string> wrap_code(std::string_view line, std::size_t width);

}  // namespace warpmark::report
