// Nsight Compute as CSV: `ncu --csv --page raw` (a column for each metric, second line the units) and `--page details`
// (a row for each metric or rule).
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNcuCsvReader;

}  // namespace warpmark::profile
