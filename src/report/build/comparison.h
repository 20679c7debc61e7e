// What a person reads of a comparison: the verdict, a table, the distributions of both variants, the samples over time,
// and the further tests.
#pragma once

#include <string>

#include "model/comparison.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Comparison& comparison);

/// "B is 2.1 % slower than A", or the like; one sentence without a full stop.
[[nodiscard]] std::string verdict_sentence(const MetricVerdict& metric, double effect);

/// Both variants' samples of one metric, and all samples in the order taken.
[[nodiscard]] Distribution distribution_of(const MetricVerdict& metric);
[[nodiscard]] Plot plot_over_time(const Comparison& comparison, std::size_t metric);

}  // namespace warpmark::report
