// Who may ask: tokens, and the names under which a server on loopback is asked.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::watch {

/// Whether an Authorization header carries the token: as "Bearer TOKEN", or as the password of "Basic ...". An empty
/// token lets everybody in. Takes a time that does not tell how much of it was right.
[[nodiscard]] bool has_token(std::string_view authorization, const std::string& token);

/// Whether a Host header names this machine to itself: "localhost", "127.0.0.1:8080", "[::1]", or none. A page from
/// elsewhere whose name was made to resolve to 127.0.0.1 (DNS rebinding) sends its own.
[[nodiscard]] bool names_loopback(std::string_view host_header);

}  // namespace warpmark::watch
