#include "stats/autocorrelation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "stats/distributions.h"

namespace warpmark::stats {
namespace {

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
