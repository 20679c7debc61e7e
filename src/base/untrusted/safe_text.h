// Text from elsewhere, made fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace warpmark {

/// The text with U+FFFD for every byte that is no UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// The text with "***" for a secret. One shorter than 8 characters is hidden as a whole word only, or it would change
/// words that have nothing to do with it.
[[nodiscard]] std::string hide_secret(std::string text, std::string_view secret);

}  // namespace warpmark
