// SHA-256 (FIPS 180-4, by OpenSSL), to name a file by its content in a report that is signed. Not for secrets.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace warpmark {

/// Two lower-case hexadecimal digits a byte.
[[nodiscard]] std::string hex_text(std::span<const unsigned char> bytes);
/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace warpmark
