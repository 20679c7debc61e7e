// A report as GitHub-flavoured markdown: pipe tables, details folded by <details>, plots as tables with sparklines (a
// markdown file cannot carry a drawing of its own).
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] std::string render_markdown(const Report& report);

/// The text with everything escaped that markdown or HTML would interpret; line ends become blanks.
[[nodiscard]] std::string escape_markdown(std::string_view text);

}  // namespace warpmark::report
