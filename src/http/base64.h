// Base64 with padding (RFC 4648, section 4), as data: URLs have it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::http {

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace warpmark::http
