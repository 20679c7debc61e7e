// Large inputs out of small ones: fuzzers try small ones, whose memory and time say little.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace warpmark::fuzz {

/// One input in 256, as a large one takes as long as some hundred small ones.
inline bool is_stretched(std::string_view bytes) {
  return bytes.size() > 16 && std::hash<std::string_view>()(bytes) % 256 == 0;
}

/// The text with a piece of its middle repeated until it is large enough for the bound on memory to mean something.
inline std::string stretched(std::string_view bytes, std::size_t large) {
  const auto piece_end = [&](std::size_t from) {
    return std::min(bytes.find_first_of("\n,", from), bytes.size() - 1) + 1;
  };
  const std::size_t begin = piece_end(bytes.size() / 3);
  const std::string_view piece = bytes.substr(begin, piece_end(begin + bytes.size() / 8) - begin);
  std::string text(bytes.substr(0, begin));
  while (!piece.empty() && text.size() < large) text += piece;
  return text.append(bytes.substr(begin));
}

/// The whole of it again and again: files that are appended to hold thousands of small parts.
inline std::string repeated(std::string_view bytes, std::size_t large) {
  std::string text(bytes);
  while (!bytes.empty() && text.size() < large) text += bytes;
  return text;
}

}  // namespace warpmark::fuzz
