// Base64 with padding (RFC 4648, section 4), as data: URLs have it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace warpmark::http {

[[nodiscard]] std::string base64(std::string_view bytes);
/// Nothing for what is no base64: other characters, a wrong length, padding within.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace warpmark::http
