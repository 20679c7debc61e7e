// The one place where SI values become what people read: "12.34 µs", "3.01 TB/s", "87.3 %". Here, below report/, as the
// sentences of findings hold numbers too, and tell them as tables do. Texts are UTF-8; a value that is not finite reads
// "n/a".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmark {

/// "12.34 µs", "1.204 ms", "61.2 s": four significant digits.
[[nodiscard]] std::string format_seconds(double seconds);

/// Decimal SI prefixes, three significant digits: (3.012e12, "B/s") is "3.01 TB/s".
[[nodiscard]] std::string format_si(double value, std::string_view unit, int digits = 3);

/// Powers of 1024: "64 KiB", "1.5 GiB", "1000 B" where so few digits tell it exactly; else that many significant ones.
[[nodiscard]] std::string format_bytes(double bytes, int digits = 3);

/// "87.3 %" of the ratio 0.873; "< 0.1 %" rather than "0.0 %" of something that is not 0.
[[nodiscard]] std::string format_percent(double ratio);

/// "1.43x" and "14.4x": how many times as much.
[[nodiscard]] std::string format_times(double factor);

/// "1 234 567", groups of three by narrow no-break spaces.
[[nodiscard]] std::string format_count(std::int64_t count);

/// Fixed notation with that many significant digits, trailing zeros kept: (1.2, 3) is "1.20". Very large and very small
/// numbers in scientific notation.
[[nodiscard]] std::string format_significant(double value, int digits);

}  // namespace warpmark
