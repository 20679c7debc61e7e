// A report for the terminal: aligned tables within `width` columns, share bars, colours and UTF-8 where allowed. Plots
// become a table with a sparkline. Sections of details are left out unless asked for.
#pragma once

#include <string>

#include "model/report.h"
#include "report/draw/format.h"

namespace warpmark::report {

[[nodiscard]] std::string render_text(const Report& report, const RenderOptions& options);

}  // namespace warpmark::report
