// A table in a terminal: columns aligned, at most `width` columns wide. Where it does not fit, share bars get narrower,
// then optional columns go, then the bars, and texts are wrapped between words. A long path or name that is wider than
// its column has a line of its own. Where even the words do not fit, each row is shown as "name: value" lines. Nothing
// is ever cut.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"
#include "report/draw/format.h"

namespace warpmark::report {

/// Lines with a newline at the end of each; empty for a table without columns.
[[nodiscard]] std::string render_table(const Table& table, const RenderOptions& options);

/// Without the columns, but for the first, that have no text in any row.
[[nodiscard]] Table without_empty_columns(Table table);

/// The text in the colour of its tone, or as it is without colour.
[[nodiscard]] std::string paint(std::string_view text, Tone tone, const RenderOptions& options);

/// A horizontal bar of `width` terminal columns, filled to `share` (0..1, clamped).
[[nodiscard]] std::string share_bar(double share, std::size_t width, bool unicode);

}  // namespace warpmark::report
