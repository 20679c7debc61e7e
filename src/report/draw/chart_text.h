// Plots for formats that cannot draw: one table row a series, with its range and, in Unicode, its shape as a sparkline
// (E. Tufte, Beautiful Evidence, 2006).
#pragma once

#include <span>
#include <string>

#include "model/report.h"

namespace warpmark::report {

/// One character a value, from "▁" (the lowest) to "█" (the highest).
[[nodiscard]] std::string sparkline(std::span<const double> values);

/// How many samples fall into each of `bins` equal parts of [low, high], as a sparkline with "·" for none. Samples
/// outside count in the outermost parts.
[[nodiscard]] std::string histogram_line(std::span<const double> samples, double low, double high, std::size_t bins);

/// series | x range | y range | shape, of the series that are lines. Scattered points and limits say more in the tables
/// of a report, and have no row.
[[nodiscard]] Table table_of(const Plot& plot);

/// name | number of samples | histogram over shown_range(), the same for all groups.
[[nodiscard]] Table table_of(const Distribution& distribution);

[[nodiscard]] bool has_marks(const HeatMap& map);

/// With what a star means, if there is one.
[[nodiscard]] std::string text_title(const HeatMap& map);

/// The numbers, without colours; marked ones have a star.
[[nodiscard]] Table table_of(const HeatMap& map);

/// name | what it left, as a bar | text.
[[nodiscard]] Table table_of(const Waterfall& waterfall);

}  // namespace warpmark::report
