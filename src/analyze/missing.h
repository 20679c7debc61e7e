// What the data does not tell, and how to record it.
#pragma once

#include <vector>

#include "analyze/evidence/evidence.h"
#include "model/analysis.h"

namespace warpmark::analyze {

[[nodiscard]] std::vector<MissingData> missing_data(const Evidence& evidence);

}  // namespace warpmark::analyze
