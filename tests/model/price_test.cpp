#include "model/price/price.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace warpmark {
namespace {

MetricVerdict metric_of(std::string unit, Better better, double ratio, double low, double high) {
  MetricVerdict metric;
  metric.unit = std::move(unit);
  metric.better = better;
  metric.ratio = ratio;
  metric.interval = Interval{.low = low, .high = high};
  return metric;
}

Comparison costing(double a_month, std::vector<MetricVerdict> metrics) {
  Comparison comparison;
  comparison.monthly_cost = a_month;
  comparison.metrics = std::move(metrics);
  return comparison;
}

TEST(MonthlySaving, is_negative_for_what_became_slower) {
  const auto saving = monthly_saving(1000, 0.8, 0.5, 1.25);
  EXPECT_DOUBLE_EQ(saving.after, 1250);
  EXPECT_DOUBLE_EQ(saving.saved, -250);
  EXPECT_DOUBLE_EQ(saving.saved_low, -1000);
  EXPECT_DOUBLE_EQ(saving.saved_high, 200);
}

TEST(MonthlySaving, of_half_the_time_is_that_of_twice_the_rate) {
  for (const auto& metric :
       {metric_of("s", Better::lower, 0.5, 0.4, 0.625), metric_of("1/s", Better::higher, 2, 1.6, 2.5)}) {
    const auto saving = monthly_saving(costing(1000, {metric}));
    ASSERT_TRUE(saving.has_value()) << metric.unit;
    EXPECT_DOUBLE_EQ(saving->before, 1000);
    EXPECT_DOUBLE_EQ(saving->after, 500);
    EXPECT_DOUBLE_EQ(saving->saved_low, 375);
    EXPECT_DOUBLE_EQ(saving->saved_high, 600);
  }
}

TEST(MonthlySaving, is_of_the_first_metric_that_decides_and_tells_a_speed) {
  const auto right = metric_of("1/s", Better::higher, 2, 1.6, 2.5);
  auto auxiliary = metric_of("s", Better::lower, 0.1, 0.1, 0.1), unsure = auxiliary;
  auxiliary.auxiliary = true;
  unsure.interval.reset();
  const auto memory = metric_of("B", Better::lower, 0.1, 0.1, 0.1);
  const auto endless = metric_of("s", Better::lower, 0.1, 0, 0.2);  // its time may be nothing: no saving is known
  const auto saving = monthly_saving(costing(1000, {auxiliary, unsure, memory, endless, right}));
  ASSERT_TRUE(saving.has_value());
  EXPECT_DOUBLE_EQ(saving->after, 500);
  EXPECT_FALSE(monthly_saving(costing(1000, {auxiliary, unsure, memory, endless})).has_value());
  auto without_cost = costing(1000, {right});
  without_cost.monthly_cost.reset();
  EXPECT_FALSE(monthly_saving(without_cost).has_value());
}

TEST(PerformancePerPrice, weighs_the_speed_of_b_by_both_prices) {
  Comparison comparison;
  const auto time = metric_of("s", Better::lower, 0.5, 0.4, 0.6);
  EXPECT_FALSE(performance_per_price(comparison, time).has_value()) << "no prices";
  comparison.price_a = 2;
  EXPECT_FALSE(performance_per_price(comparison, time).has_value()) << "one price";
  comparison.price_b = 8;
  EXPECT_DOUBLE_EQ(performance_per_price(comparison, time).value_or(0), 0.5) << "twice the speed, four times the price";
  EXPECT_DOUBLE_EQ(performance_per_price(comparison, metric_of("1/s", Better::higher, 2, 1, 3)).value_or(0), 0.5);
  EXPECT_FALSE(performance_per_price(comparison, metric_of("1", Better::neither, 2, 1, 3)).has_value());
}

}  // namespace
}  // namespace warpmark
