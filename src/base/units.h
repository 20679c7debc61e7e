// Numbers with units, as people type them and as they read them ("12.34 µs", "3.01 TB/s", "87.3 %"). Texts are UTF-8; a
// value that is not finite reads "n/a".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark {

/// Bytes from "4096", "4KiB", "1.5GiB", "64kB" (k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; the B
/// is optional). Usage error when it is no size or does not fit 63 bits.
[[nodiscard]] Result<std::int64_t> parse_bytes(std::string_view text);

/// Seconds from "60s", "500ms", "2m", "1h", "30d", "10us", or a bare number of seconds.
[[nodiscard]] Result<double> parse_duration_s(std::string_view text);

/// A ratio from "0.5%" (0.005) or "0.005".
[[nodiscard]] Result<double> parse_ratio(std::string_view text);

/// A number with the given SI unit and any prefix: "3.2 TB/s" for "B/s" is 3.2e12, "64KiB" for "B", "500 us" for "s",
/// "12 TFLOPS" for "FLOP/s". A bare number only where the unit is empty or "1". Usage error for another unit.
[[nodiscard]] Result<double> parse_quantity(std::string_view text, std::string_view unit);

/// A whole decimal integer; a finite decimal number. The whole text must be the number.
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] Result<double> parse_number(std::string_view text);

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
