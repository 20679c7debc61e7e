// The verdict of an analysis.
#pragma once

#include <string>

#include "analyze/evidence/evidence.h"
#include "model/analysis.h"

namespace warpmark::analyze {

/// Of the findings, which are in order. Adds what the host alone shows where there are none.
[[nodiscard]] std::string verdict_of(Analysis& analysis, const Evidence& evidence);

/// Launches without kernels look like an idle GPU, or a healthy one; "" where nothing is missing.
[[nodiscard]] std::string lost_work(const Evidence& evidence);

}  // namespace warpmark::analyze
