// SHA-256 (FIPS 180-4), to name a file by its content in a report that is signed. Not for secrets.
#pragma once

#include <string>
#include <string_view>

namespace warpmark {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace warpmark
