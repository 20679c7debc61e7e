#include "stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "stats/autocorrelation.h"
#include "stats/distributions.h"
#include "stats/moments.h"

namespace warpmark::stats {
namespace {

struct Split {
  std::int64_t index = 0;  ///< of the first value on the right
  double energy = -1;
};

class Detector {
 public:
  Detector(std::span<const double> series, const ChangePointOptions& options) : series_(series), options_(options) {}

  std::vector<ChangePoint> run() {
    const double p = options_.max_p;
    // Weak change points are found with a looser p: merging makes segments longer and their tests stronger.
    weak_p_ = p < 0.05 ? p * 10 : p < 0.5 ? p * 2 : p;
    const auto weak = weak_points();
    if (options_.published || !options_.autocorrelation) return merged(weak, 1);
    // The estimate of rho may be too small by its own error, and weak points have taken the largest steps from it.
    constexpr double kStandardErrors = 1.5, kLargestRho = 0.95;
    const double rho =
        lag_one(series_, weak) + kStandardErrors / std::sqrt(std::max(1.0, static_cast<double>(series_.size())));
    return merged(weak, variance_inflation(std::min(rho, kLargestRho)));
  }

 private:
  [[nodiscard]] std::span<const double> part(std::int64_t begin, std::int64_t end) const {
    return series_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  [[nodiscard]] ChangePoint test(std::int64_t begin, std::int64_t index, std::int64_t end, double inflation) const {
    const Moments left = moments_of(part(begin, index)), right = moments_of(part(index, end));
    const double lost = options_.published ? 0 : 1;
    const auto variance = [&](const Moments& side) { return side.n > 1 ? side.squares / (side.n - lost) : 0; };
    ChangePoint point{.index = index, .mean_before = left.mean, .mean_after = right.mean};
    point.stdev_before = std::sqrt(variance(left));
    point.stdev_after = std::sqrt(variance(right));
    const double degrees = left.n + right.n - 2;
    if (degrees <= 0) return point;
    const double pooled = ((left.n - 1) * variance(left) + (right.n - 1) * variance(right)) / degrees;
    const double error = std::sqrt(pooled * (1 / left.n + 1 / right.n) * inflation);
    const double difference = std::fabs(left.mean - right.mean);
    if (error > 0) {
      point.p = 2 * t_tail(difference / error, std::max(1.0, degrees / inflation));
    } else {
      point.p = difference > 0 ? 0 : 1;
    }
    return point;
  }

  /// The split of [begin, end) with the largest energy statistic; the right side may end before `end`.
  [[nodiscard]] Split best_split(std::int64_t begin, std::int64_t end) const {
    const auto values = part(begin, end);
    const std::size_t n = values.size();
    // before[j * (n + 1) + i]: sum of |x_k - x_j| over k < i.
    std::vector<double> before(n * (n + 1));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        before[j * (n + 1) + i + 1] = before[j * (n + 1) + i] + std::fabs(values[i] - values[j]);
      }
    }
    Split best;
    double within_left = 0;
    for (std::size_t tau = 1; tau < n; ++tau) {
      within_left += before[(tau - 1) * (n + 1) + tau - 1];
      double between = 0, within_right = 0;
      for (std::size_t kappa = tau + 1; kappa <= n; ++kappa) {
        const double* column = &before[(kappa - 1) * (n + 1)];
        between += column[tau];
        within_right += column[kappa - 1] - column[tau];
        const auto left = static_cast<double>(tau), right = static_cast<double>(kappa - tau), sum = left + right;
        double energy = 2 / sum * between;
        if (tau > 1) energy -= 2 * right / sum / (left - 1) * within_left;
        if (kappa - tau > 1) energy -= 2 * left / sum / (right - 1) * within_right;
        if (energy > best.energy) best = {begin + static_cast<std::int64_t>(tau), energy};
      }
    }
    return best;
  }

  /// Change points of one window by repeated splitting where the energy is largest, while the test agrees.
  [[nodiscard]] std::vector<std::int64_t> window_points(std::int64_t begin, std::int64_t end) const {
    struct Segment {
      std::int64_t begin, end;
      Split split;
    };
    const auto segment = [&](std::int64_t from, std::int64_t to) {
      return Segment{from, to, to - from >= 2 ? best_split(from, to) : Split{}};
    };
    std::vector<Segment> segments{segment(begin, end)};
    std::vector<std::int64_t> found;
    for (;;) {
      const auto best = std::max_element(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
        return a.split.energy < b.split.energy;
      });
      if (best->split.energy < 0) break;
      const Segment chosen = *best;
      if (!(test(chosen.begin, chosen.split.index, chosen.end, 1).p <= weak_p_)) break;
      found.push_back(chosen.split.index);
      *best = segment(chosen.begin, chosen.split.index);
      segments.insert(best + 1, segment(chosen.split.index, chosen.end));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] std::vector<std::int64_t> weak_points() const {
    const auto size = static_cast<std::int64_t>(series_.size());
    std::vector<std::int64_t> points;
    for (std::int64_t start = 0; start < size;) {
      const auto found = window_points(start, std::min(start + options_.window, size));
      start = std::max(found.empty() ? 0 : found.back(), start + options_.window / 2);
      points.insert(points.end(), found.begin(), found.end());
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
  }

  [[nodiscard]] ChangePoint tested(const std::vector<ChangePoint>& points, std::size_t i, double inflation) const {
    const std::int64_t begin = i == 0 ? 0 : points[i - 1].index;
    const auto size = static_cast<std::int64_t>(series_.size());
    return test(begin, points[i].index, i + 1 < points.size() ? points[i + 1].index : size, inflation);
  }

  [[nodiscard]] std::vector<ChangePoint> merged(const std::vector<std::int64_t>& weak, double inflation) const {
    std::vector<ChangePoint> points;
    for (const auto index : weak) points.push_back({.index = index});
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = tested(points, i, inflation);
    while (!points.empty()) {
      auto weakest = std::max_element(points.begin(), points.end(),
                                      [](const ChangePoint& a, const ChangePoint& b) { return a.p < b.p; });
      if (weakest->p < options_.max_p) {
        weakest = std::min_element(points.begin(), points.end(), [](const ChangePoint& a, const ChangePoint& b) {
          return a.magnitude() < b.magnitude();
        });
        if (weakest->magnitude() > options_.min_magnitude) break;
      }
      const auto at = static_cast<std::size_t>(weakest - points.begin());
      points.erase(weakest);
      // The point after the erased one is now at its place, the one before it at at - 1. Otava updates at and at + 1.
      const std::size_t first = options_.published ? at : at == 0 ? 0 : at - 1;
      for (std::size_t i = first; i < first + 2 && i < points.size(); ++i) points[i] = tested(points, i, inflation);
    }
    return points;
  }

  std::span<const double> series_;
  const ChangePointOptions& options_;
  double weak_p_ = 0;
};

}  // namespace

double ChangePoint::magnitude() const {
  if (mean_before == mean_after) return 0;
  if (mean_before == 0 || mean_after == 0) return std::numeric_limits<double>::infinity();
  return std::max(std::fabs(mean_after / mean_before - 1), std::fabs(mean_before / mean_after - 1));
}

std::vector<ChangePoint> change_points(std::span<const double> series, const ChangePointOptions& options) {
  WM_CHECK(options.window >= 2 && options.max_p > 0);
  for (const double value : series) WM_CHECK(std::isfinite(value));
  return Detector(series, options).run();
}

}  // namespace warpmark::stats
