// Where a series changed its level, and what its next session is expected to be. Pure.
#pragma once

#include "model/trend.h"

namespace warpmark::validate {

/// Fills changes alone, from the points, better and machines of a series.
void find_changes(TrendSeries& series, double threshold);

/// Fills changes, drift, level, band and band_from from the points, better and machines of a series. Points on both
/// sides of a change of the machine are never set against one another. `threshold` is the smallest change that is
/// marked.
void mark_changes(TrendSeries& series, double threshold);

}  // namespace warpmark::validate
