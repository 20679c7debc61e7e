// The one place where SI values become what people read: "12.34 µs", "3.01 TB/s", "64 KiB", "87.3 %", "±0.41 %".
// Texts are UTF-8; a terminal without it shows to_ascii() of them. A value that is not finite reads "n/a".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/metric.h"

namespace warpmark::report {

/// "12.34 µs", "1.204 ms", "61.2 s": four significant digits.
[[nodiscard]] std::string format_seconds(double seconds);

/// For waiting times: "350 ms", "4.2 s", "1 min 05 s", "2 h 03 min".
[[nodiscard]] std::string format_duration(double seconds);

/// Powers of 1024: "64 KiB", "1.5 GiB", "1000 B".
[[nodiscard]] std::string format_bytes(double bytes);

/// Decimal SI prefixes, three significant digits: (3.012e12, "B/s") is "3.01 TB/s".
[[nodiscard]] std::string format_si(double value, std::string_view unit, int digits = 3);

/// By the unit of a metric or an axis: s, B, % (of a ratio) and counts in their own form, everything else by format_si.
[[nodiscard]] std::string format_quantity(double value, std::string_view unit);

/// "87.3 %" of the ratio 0.873; "< 0.1 %" rather than "0.0 %" of something that is not 0.
[[nodiscard]] std::string format_percent(double ratio);

/// "+3.2 %" of the ratio 1.032.
[[nodiscard]] std::string format_change(double ratio);

/// "0.013" or "<0.001"; empty without a p.
[[nodiscard]] std::string format_p(const std::optional<double>& p);

/// The larger half of an interval around the median as a share of it: "±0.41 %".
[[nodiscard]] std::string format_half_width(double median, const Interval& interval);

/// "1 234 567", groups of three by narrow no-break spaces.
[[nodiscard]] std::string format_count(std::int64_t count);

/// Fixed notation with that many significant digits, trailing zeros kept: (1.2, 3) is "1.20". Very large and very small
/// numbers in scientific notation.
[[nodiscard]] std::string format_significant(double value, int digits);

/// "2.1e-07": relative errors and tolerances.
[[nodiscard]] std::string format_scientific(double value);

/// One of two words by the count: (1, "run", "runs") is "1 run".
[[nodiscard]] std::string format_plural(std::size_t count, std::string_view one, std::string_view many);

/// The same text in plain ASCII: "us", "+-", "...", "?" for what has no likeness.
[[nodiscard]] std::string to_ascii(std::string_view utf8);

/// What a terminal is given of a text: names from files and of processes may hold control characters, with which they
/// could move its cursor or set its title. They become "?", a tab a blank; line breaks stay.
[[nodiscard]] std::string without_controls(std::string_view utf8);

}  // namespace warpmark::report
