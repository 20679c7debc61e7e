// A report as one self-contained HTML file: inline style and SVG, no scripts, nothing loaded from elsewhere. Follows
// the reader's light or dark scheme, and fits a phone: wide tables and plots scroll inside their own box.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] std::string render_html(const Report& report);

/// Its sections alone, for a page that has the style sheet. Every text is escaped; there are no scripts and no inline
/// styles, which the page may forbid.
[[nodiscard]] std::string html_sections(const Report& report);

/// A drawing of render_svg as a file of its own: with the style sheet in it.
[[nodiscard]] std::string standalone_svg(const std::string& svg);

/// The page's style sheet.
[[nodiscard]] std::string_view html_style();

}  // namespace warpmark::report
