// A badge for a README: one word on the left, the verdict on the right. An SVG without scripts or fonts of its own.
#pragma once

#include <string>

#include "model/check.h"

namespace warpmark::report {

/// "performance | +12.5 % time", red where it is worse, gray where nothing could be decided.
[[nodiscard]] std::string render_badge(const Check& check);

}  // namespace warpmark::report
