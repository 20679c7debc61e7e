// Addresses of servers as people write them: RFC 3986, the part of it that http and https use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark::http {

struct Url {
  std::string scheme;      ///< "http" or "https"
  std::string host;        ///< in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;  ///< the scheme's own where the text names none
  std::string target;      ///< path and query, at least "/"

  [[nodiscard]] bool secure() const { return scheme == "https"; }
  /// "host", or "host:port" where the port is not the scheme's own; an IPv6 address in brackets.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const { return scheme + "://" + authority() + target; }
};

/// A fragment is dropped. Usage error for another scheme, a host that is none, a port out of range, and for a user or a
/// password, which would end up in reports.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// `base` with a path below its own: "/v1/" and "chat/completions" make "/v1/chat/completions". The query of `base`
/// stays.
[[nodiscard]] Url below(const Url& base, std::string_view path);

/// Everything but letters, digits and "-._~" as %XX, and "/" too unless it is to be kept.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash = false);

// Base64 with padding (RFC 4648, section 4), as data: URLs have it. Pure.

[[nodiscard]] std::string base64(std::string_view bytes);
/// Nothing for what is no base64: other characters, a wrong length, padding within.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace warpmark::http
