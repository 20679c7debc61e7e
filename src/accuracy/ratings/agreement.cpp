#include "accuracy/ratings/agreement.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace warpmark::accuracy {
namespace {

/// Squared distance of two values by their places among the sorted ones; `totals` is how often each occurs.
double rating_distance(std::span<const double> values, std::span<const double> totals, std::size_t a, std::size_t b,
                       Measurement measurement) {
  if (a == b) return 0;
  switch (measurement) {
    case Measurement::nominal: return 1;
    case Measurement::interval: return (values[a] - values[b]) * (values[a] - values[b]);
    case Measurement::ratio: {
      const double sum = values[a] + values[b];
      const double share = sum == 0 ? 0 : (values[a] - values[b]) / sum;
      return share * share;
    }
    case Measurement::ordinal: {
      double between = 0;
      for (std::size_t i = std::min(a, b); i <= std::max(a, b); ++i) between += totals[i];
      between -= (totals[a] + totals[b]) / 2;
      return between * between;
    }
  }
  return 0;
}

}  // namespace

Result<Measurement> measurement_from(std::string_view name) {
  if (name == "nominal") return Measurement::nominal;
  if (name == "ordinal") return Measurement::ordinal;
  if (name == "interval") return Measurement::interval;
  if (name == "ratio") return Measurement::ratio;
  return usage_error("there is no level of measurement '" + std::string(name) + "'",
                     "levels: nominal, ordinal, interval, ratio");
}

double krippendorff_alpha(std::span<const ItemRatings> items, Measurement measurement) {
  std::vector<double> values;
  for (const auto& item : items) {
    if (item.size() >= 2) values.insert(values.end(), item.begin(), item.end());
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const std::size_t k = values.size();
  const auto place_of = [&](double value) {
    return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
  };
  std::vector<double> coincidences(k * k, 0), totals(k, 0), counts(k);
  for (const auto& item : items) {
    if (item.size() < 2) continue;
    std::fill(counts.begin(), counts.end(), 0);
    for (const double rating : item) counts[place_of(rating)] += 1;
    const double weight = 1 / (static_cast<double>(item.size()) - 1);
    for (std::size_t a = 0; a < k; ++a) {
      totals[a] += counts[a];
      for (std::size_t b = 0; b < k; ++b) {
        coincidences[a * k + b] += weight * counts[a] * (a == b ? counts[a] - 1 : counts[b]);
      }
    }
  }
  double n = 0, observed = 0, expected = 0;
  for (const double total : totals) n += total;
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) {
      const double distance = rating_distance(values, totals, a, b, measurement);
      observed += coincidences[a * k + b] * distance;
      expected += totals[a] * totals[b] * distance;
    }
  }
  return expected > 0 ? 1 - (n - 1) * observed / expected : 1;
}

}  // namespace warpmark::accuracy
