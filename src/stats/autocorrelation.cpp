#include "stats/autocorrelation.h"

#include <algorithm>

namespace warpmark::stats {
namespace {

constexpr double kLargest = 0.95;
constexpr double kFewestDifferences = 4;

struct MeanSquare {
  double sum = 0;
  double count = 0;
  void add(double difference) { sum += difference * difference, count += 1; }
  [[nodiscard]] double value() const { return sum / count; }
};

}  // namespace

double lag_one(std::span<const double> series, std::span<const std::int64_t> breaks) {
  MeanSquare over_one, over_two;
  const auto level_of = [&](std::size_t i) {
    return std::upper_bound(breaks.begin(), breaks.end(), static_cast<std::int64_t>(i)) - breaks.begin();
  };
  for (std::size_t i = 1; i < series.size(); ++i) {
    const auto level = level_of(i);
    if (level_of(i - 1) == level) over_one.add(series[i] - series[i - 1]);
    if (i > 1 && level_of(i - 2) == level) over_two.add(series[i] - series[i - 2]);
  }
  if (over_two.count < kFewestDifferences || !(over_one.sum > 0)) return 0;
  return std::clamp(over_two.value() / over_one.value() - 1, -kLargest, kLargest);
}

double variance_inflation(double rho) { return rho <= 0 ? 1 : (1 + rho) / (1 - rho); }

}  // namespace warpmark::stats
