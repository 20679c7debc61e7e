// Numbers with units as people type them. Printing is the business of report/.
#pragma once

#include <cstdint>
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

}  // namespace warpmark
