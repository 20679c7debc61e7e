// What people read of SI values beyond plain numbers with units (base/units.h): "64 KiB", "+3.2 %", "±0.41 %", "2 h
// 03 min". Texts are UTF-8; a terminal without it shows to_ascii() of them. A value that is not finite reads "n/a".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "model/metric.h"

namespace warpmark::report {

using warpmark::format_bytes;
using warpmark::format_count;
using warpmark::format_percent;
using warpmark::format_seconds;
using warpmark::format_si;
using warpmark::format_significant;
using warpmark::format_times;

/// For waiting times: "350 ms", "4.2 s", "1 min 05 s", "2 h 03 min".
[[nodiscard]] std::string format_duration(double seconds);

/// By the unit of a metric or an axis: s, B, % (of a ratio) and counts in their own form, everything else by format_si.
[[nodiscard]] std::string format_quantity(double value, std::string_view unit);

/// "+3.2 %" of the ratio 1.032.
[[nodiscard]] std::string format_change(double ratio);

/// "0.013" or "<0.001"; empty without a p.
[[nodiscard]] std::string format_p(const std::optional<double>& p);

/// The larger half of an interval around the median as a share of it: "±0.41 %".
[[nodiscard]] std::string format_half_width(double median, const Interval& interval);

/// "2.1e-07": relative errors and tolerances.
[[nodiscard]] std::string format_scientific(double value);

/// One of two words by the count: (1, "run", "runs") is "1 run".
[[nodiscard]] std::string format_plural(std::size_t count, std::string_view one, std::string_view many);

/// The same text in plain ASCII: "us", "+-", "...", "?" for what has no likeness.
[[nodiscard]] std::string to_ascii(std::string_view utf8);

/// What a terminal is given of a text: names from files and of processes may hold what may not be shown
/// (base/untrusted/input.h). It becomes "?", a tab a blank; line breaks stay.
[[nodiscard]] std::string without_controls(std::string_view utf8);

// How a report is rendered; what a format cannot do is ignored by it.

struct RenderOptions {
  int width = 80;             ///< terminal columns, at least 40
  bool whole_tables = false;  ///< tables with a header are as wide as their columns: pipes and files
  bool color = false;         ///< ANSI colours
  bool unicode = false;       ///< the terminal shows UTF-8
  bool details = false;       ///< text: also print the sections that other formats fold away
};

}  // namespace warpmark::report
