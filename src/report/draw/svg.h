// Plots as inline SVG without scripts, fonts or colours of their own: classes (s0 .. s7, grid, axis, limit, ...) take
// their colours from the page's CSS, so that one drawing serves light and dark. Series differ by colour and by mark.
// Names from the outside are escaped; points that an axis cannot show (not finite, or not positive on a logarithmic
// axis) are left out.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"

namespace warpmark::report {

/// Lines and marks with axes, ticks, grid and legend. Limits are thin lines named beside them.
[[nodiscard]] std::string render_svg(const Plot& plot);

/// One row a group: samples as dots in the order taken (first on top), quartile box, median and its interval. At most
/// 150 dots a group, evenly chosen; samples beyond the axis sit at its edge.
[[nodiscard]] std::string render_svg(const Distribution& distribution);

/// Squares shaded by the logarithm of their value (by the value where one is not above 0), with its text.
[[nodiscard]] std::string render_svg(const HeatMap& map);

/// A row a bar from where the last one ended, joined by thin lines, with its text.
[[nodiscard]] std::string render_svg(const Waterfall& waterfall);

/// A line or scatter plot of render_svg with the light scheme's colours in each element instead of classes, for
/// programs that know no variables of style sheets, such as librsvg.
[[nodiscard]] std::string flat_svg(std::string_view svg);

/// & < > " ' as entities; what may not be shown (base/untrusted/input.h) as U+FFFD.
[[nodiscard]] std::string escape_markup(std::string_view text);

}  // namespace warpmark::report
