// What a difference in speed is worth in money.
#pragma once

#include <optional>

#include "base/json_fwd.h"
#include "model/comparison.h"

namespace warpmark {

struct Optimization;

/// Monthly cost of the same work before and after a speedup.
struct MonthlySaving {
  double before = 0, after = 0, saved = 0;
  double saved_low = 0, saved_high = 0;
};
[[nodiscard]] MonthlySaving monthly_saving(double before, double speedup, double low, double high);

/// By the first metric that decides and tells a speed. Nothing without a cost, such a metric or an interval.
[[nodiscard]] std::optional<MonthlySaving> monthly_saving(const Comparison& comparison);

/// An optimization with what it saves.
struct PricedOptimization {
  const Optimization& optimization;
  std::optional<MonthlySaving> monthly;
};
[[nodiscard]] Json to_json(const PricedOptimization& optimization);

/// Performance per price of an hour, B / A; nothing where there are no prices, or no direction.
[[nodiscard]] std::optional<double> performance_per_price(const Comparison& comparison, const MetricVerdict& metric);

}  // namespace warpmark
