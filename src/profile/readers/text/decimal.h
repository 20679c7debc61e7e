// Numbers as text, exactly: no binary fractions on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpmark::profile {

/// "4361643201600.795" with 3 decimals shifted out is 4361643201600795. Digits beyond are rounded, half away from zero.
/// Exponents are understood. Nothing if the text is no number or the result needs more than 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_shifted_decimal(std::string_view text, int decimals);

/// A whole number; also "0x1f". A fraction is cut off.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// Any number; not "nan" or "inf".
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

}  // namespace warpmark::profile
