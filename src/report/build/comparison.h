// What a person reads of a comparison: the verdict, a table, the distributions of both variants, the samples over time,
// and the further tests.
#pragma once

#include <string>

#include "model/comparison.h"
#include "model/price/price.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Comparison& comparison);

/// "B is 1.66x faster (95 % CI 1.60x-1.72x): time 39.8 % lower", or the like; one sentence without a full stop.
[[nodiscard]] std::string verdict_sentence(const MetricVerdict& metric, double effect);

/// What decides: the first metric with the gravest verdict, or the gate that rejects.
[[nodiscard]] std::string overall_sentence(const Comparison& comparison);

/// "Per month: A costs 180 000, B 90 000, which saves 90 000 (81 000 to 98 000)".
[[nodiscard]] std::string monthly_sentence(const MonthlySaving& saving, const std::string& before,
                                           const std::string& after);

/// Which test decided, and how its numbers are to be read.
[[nodiscard]] std::string method_text(const Comparison& comparison);

/// Both variants' samples of one metric, and all samples in the order taken.
[[nodiscard]] Distribution distribution_of(const MetricVerdict& metric);
[[nodiscard]] Plot plot_over_time(const Comparison& comparison, std::size_t metric);

}  // namespace warpmark::report
