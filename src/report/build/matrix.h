// What a person reads of a matrix: all variants in a table with the verdict against the baseline, heat maps where two
// axes vary, and which variants are on the front.
#pragma once

#include <vector>

#include "model/matrix.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Matrix& matrix);

/// One map a metric of the table, over the two axes with the most values; with more axes one for each combination of
/// the others' values. Empty with fewer than two axes.
[[nodiscard]] std::vector<HeatMap> heat_maps(const Matrix& matrix);

}  // namespace warpmark::report
