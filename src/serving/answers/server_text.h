// What a server said, as it may be shown: in a terminal, a page, a file. A hostile or broken server must not be able to
// color a terminal, move its cursor or break a document. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace warpmark::serving {

inline constexpr std::size_t kMostServerText = 200;

/// At most `most` bytes of valid UTF-8 on one line: line ends and tabs become spaces; control characters, characters
/// that change the direction of text, and bytes that are no UTF-8 become "\x1b".
[[nodiscard]] std::string server_text(std::string_view bytes, std::size_t most = kMostServerText);

/// The text of a JSON string, given as what is between its quotes; what is damaged stays as it is.
[[nodiscard]] std::string without_escapes(std::string_view between_quotes);

/// What a person can read of a body that is an error: its message, or its beginning.
[[nodiscard]] std::string error_text(std::string_view body);

}  // namespace warpmark::serving
