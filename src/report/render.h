// A report in the format that was asked for.
#pragma once

#include <string>
#include <string_view>

#include "model/report.h"
#include "report/options.h"

namespace warpmark::report {

/// `format` is "text", "md" or "html"; only text heeds the options.
[[nodiscard]] std::string render(const Report& report, std::string_view format, const RenderOptions& options);

}  // namespace warpmark::report
