// Properties of a rendered text that tests ask for.
#pragma once

#include <algorithm>
#include <string>

#include "base/text.h"

namespace warpmark::test {

/// In terminal columns.
inline std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const auto& line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

/// How often the part occurs, overlaps included.
inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace warpmark::test
