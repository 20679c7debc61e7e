#include "stats/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

constexpr std::size_t kMostForDrift = 3000;

struct Line {
  double level = 0;
  double slope = 0;
};

std::vector<double> slopes_of(std::span<const double> values) {
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() - 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
    }
  }
  return slopes;
}

/// The value of that rank, without sorting all.
double at_rank(std::vector<double>& values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double middle_of(std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  const double upper = at_rank(values, half);
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)) + upper) / 2;
}

std::vector<double> residuals_of(std::span<const double> values, const Line& line) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    residuals.push_back(values[i] - line.level - line.slope * static_cast<double>(i));
  }
  return residuals;
}

Line line_through(std::span<const double> values, double slope) {
  return {.level = median(residuals_of(values, {.level = 0, .slope = slope})), .slope = slope};
}

/// Variance of Kendall's sum of signs under "no trend", equal values and resemblance of neighbours included.
double variance_of_signs(std::span<const double> values, const Line& line) {
  const auto n = static_cast<double>(values.size());
  double variance = n * (n - 1) * (2 * n + 5);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    const auto ties = static_cast<double>(end - i);
    variance -= ties * (ties - 1) * (2 * ties + 5);
    i = end;
  }
  const double rho = largest_rho(residuals_of(values, line), {});
  return variance / 18 * (1 + rho) / (1 - rho);
}

double squares_around_levels(std::span<const double> values, std::span<const std::int64_t> breaks) {
  double squares = 0;
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= breaks.size(); ++k) {
    const std::size_t end = k < breaks.size() ? static_cast<std::size_t>(breaks[k]) : values.size();
    const auto part = values.subspan(begin, end - begin);
    const double level = part.empty() ? 0 : mean_of(part);
    for (const double value : part) squares += (value - level) * (value - level);
    begin = end;
  }
  return squares;
}

constexpr double kLargest = 0.95;
constexpr int kCandidates = 48;             // of rho: 0, 0.02 and so on, and the largest
constexpr double kNormalQuantile = 1.2816;  // of the confidence

/// What the restricted likelihood of a series is made of, summed over its segments.
struct Likelihood {
  double squares = 0;  ///< of whitened residuals
  double degrees = 0;
  double logarithms = 0;
  [[nodiscard]] double value() const { return logarithms - degrees / 2 * std::log(squares / degrees); }
};

void add_segment(Likelihood& sum, std::span<const double> values, double rho) {
  const double first = std::sqrt(1 - rho * rho), other = 1 - rho;  // the level 1, whitened
  // Of deviations from the first value, which is exact where there is no noise.
  const auto whitened = [&](std::size_t i) { return values[i] - values[0] - rho * (values[i - 1] - values[0]); };
  double weights = first * first, weighted = 0;
  for (std::size_t i = 1; i < values.size(); ++i) weights += other * other, weighted += other * whitened(i);
  const double level = weighted / weights;
  sum.squares += first * level * first * level;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double residual = whitened(i) - other * level;
    sum.squares += residual * residual;
  }
  sum.degrees += static_cast<double>(values.size() - 1);
  sum.logarithms += (std::log1p(-rho * rho) - std::log(weights)) / 2;
}

Likelihood likelihood_of(std::span<const double> series, std::span<const std::int64_t> breaks, double rho) {
  Likelihood sum;
  std::size_t begin = 0;
  const auto add_until = [&](std::size_t end) {
    if (end > begin) add_segment(sum, series.subspan(begin, end - begin), rho);
    begin = end;
  };
  for (const auto point : breaks) add_until(static_cast<std::size_t>(point));
  add_until(series.size());
  return sum;
}

}  // namespace

std::optional<Drift> drift_of(std::span<const double> values, double confidence) {
  if (values.size() > kMostForDrift) values = values.last(kMostForDrift);
  const bool finite = std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (static_cast<std::int64_t>(values.size()) < kFewestForDrift || !finite) return std::nullopt;
  auto slopes = slopes_of(values);
  const Line line = line_through(values, middle_of(slopes));
  const auto pairs = static_cast<double>(slopes.size());
  const double spread = std::sqrt(std::max(0.0, variance_of_signs(values, line)));
  const double reach = normal_quantile(0.5 + confidence / 2) * spread;
  const auto at = [&](double rank) {
    const double last = pairs - 1;
    return at_rank(slopes, static_cast<std::size_t>(std::clamp(rank, 0.0, last)));
  };
  const auto rising = static_cast<double>(std::ranges::count_if(slopes, [](double slope) { return slope > 0; }));
  const auto falling = static_cast<double>(std::ranges::count_if(slopes, [](double slope) { return slope < 0; }));
  const double sum = rising - falling;
  const double z = spread > 0 ? std::max(0.0, std::fabs(sum) - 1) / spread : 0;
  return Drift{.n = static_cast<std::int64_t>(values.size()),
               .slope = line.slope,
               .interval = {at(std::floor((pairs - reach) / 2)), at(std::ceil((pairs + reach) / 2)), confidence},
               .p = std::min(1.0, 2 * normal_tail(z)),
               .level = line.level};
}

bool creeps_rather_than_steps(std::span<const double> values, std::span<const std::int64_t> breaks) {
  const auto n = static_cast<double>(values.size());
  if (breaks.empty() || values.size() < 4) return false;
  // Least squares, as the levels are.
  const double middle = (n - 1) / 2, mean = mean_of(values);
  double products = 0, distances = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    products += x * (values[i] - mean);
    distances += x * x;
  }
  const double slope = products / distances;
  double of_line = 0;
  for (const double rest : residuals_of(values, {.level = mean - slope * middle, .slope = slope})) {
    of_line += rest * rest;
  }
  const double of_levels = squares_around_levels(values, breaks);
  // A level and where it begins are two numbers each, the first level one.
  const auto numbers = 2 * static_cast<double>(breaks.size()) + 1;
  return n * std::log(std::max(of_line, 1e-300)) + 2 * std::log(n) <
         n * std::log(std::max(of_levels, 1e-300)) + numbers * std::log(n);
}

double largest_rho(std::span<const double> series, std::span<const std::int64_t> breaks) {
  std::array<double, kCandidates + 1> rhos{}, likelihoods{};
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rhos.size(); ++i) {
    rhos[i] = std::min(kLargest, 0.02 * static_cast<double>(i));
    const Likelihood found = likelihood_of(series, breaks, rhos[i]);
    if (!(found.squares > 0)) return 0;  // no noise
    likelihoods[i] = found.value();
    best = std::max(best, likelihoods[i]);
  }
  std::size_t last = rhos.size() - 1;
  while (last > 0 && likelihoods[last] < best - kNormalQuantile * kNormalQuantile / 2) --last;
  return rhos[last];
}

double step_p(std::span<const double> values, std::int64_t index, double rho) {
  const auto at = static_cast<std::size_t>(index);
  WM_CHECK(index > 0 && at < values.size() && rho >= 0 && rho < 1);
  struct Row {
    double left, right, value;
  };
  const auto row = [&](std::size_t i) {
    if (i == 0) return Row{std::sqrt(1 - rho * rho), 0, 0};
    const double left_now = i < at ? 1 : 0, left_before = i <= at ? 1 : 0;
    return Row{left_now - rho * left_before, (1 - left_now) - rho * (1 - left_before),
               values[i] - values[0] - rho * (values[i - 1] - values[0])};
  };
  Row by_left{}, by_right{};  // sums of products
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Row one = row(i);
    by_left.left += one.left * one.left, by_left.right += one.left * one.right, by_left.value += one.left * one.value;
    by_right.right += one.right * one.right, by_right.value += one.right * one.value;
  }
  const double determinant = by_left.left * by_right.right - by_left.right * by_left.right;
  const double left = (by_right.right * by_left.value - by_left.right * by_right.value) / determinant;
  const double right = (by_left.left * by_right.value - by_left.right * by_left.value) / determinant;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Row one = row(i);
    const double residual = one.value - one.left * left - one.right * right;
    squares += residual * residual;
  }
  const double degrees = static_cast<double>(values.size()) - 2, step = std::fabs(right - left);
  if (degrees <= 0 || !(step > 0)) return 1;
  const double spread = (by_left.left + 2 * by_left.right + by_right.right) / determinant;
  const double error = std::sqrt(squares / degrees * spread);
  return error > 0 ? std::min(1.0, 2 * t_tail(step / error, degrees)) : 0;
}

}  // namespace warpmark::stats
