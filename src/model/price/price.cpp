#include "model/price/price.h"

namespace warpmark {

std::optional<double> performance_per_price(const Comparison& comparison, const MetricVerdict& metric) {
  if (!comparison.price_a || !comparison.price_b || !metric.ratio || metric.better == Better::neither) return {};
  const double faster = metric.better == Better::higher ? *metric.ratio : 1 / *metric.ratio;
  return faster * *comparison.price_a / *comparison.price_b;
}

MonthlySaving monthly_saving(double before, double speedup, double low, double high) {
  return {.before = before,
          .after = before / speedup,
          .saved = before - before / speedup,
          .saved_low = before - before / low,
          .saved_high = before - before / high};
}

std::optional<MonthlySaving> monthly_saving(const Comparison& comparison) {
  if (!comparison.monthly_cost) return {};
  for (const auto& metric : comparison.metrics) {
    const bool time = metric.unit == "s" && metric.better == Better::lower, rate = metric.better == Better::higher;
    if (metric.auxiliary || !(time || rate) || !metric.ratio || !metric.interval) continue;
    const auto [low, high, confidence] = *metric.interval;
    if (!(low > 0 && *metric.ratio > 0)) continue;
    return time ? monthly_saving(*comparison.monthly_cost, 1 / *metric.ratio, 1 / high, 1 / low)
                : monthly_saving(*comparison.monthly_cost, *metric.ratio, low, high);
  }
  return {};
}

}  // namespace warpmark
