// The lines of a text that is in memory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace warpmark {

/// Takes the first line off the text; without its line feed, which the last one may lack.
[[nodiscard]] inline std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Calls use(line, place) for each line that is not blank, until one returns an error. `place` is "FILE line 7", from 1
/// and with blank lines counted.
template <typename Use>
[[nodiscard]] Status each_filled_line(std::string_view text, std::string_view file, Use use) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!trim(line).empty()) WM_TRY(use(line, std::string(file) + " line " + std::to_string(number)));
  }
  return {};
}

}  // namespace warpmark
