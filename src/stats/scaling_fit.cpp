#include "stats/scaling_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "base/check.h"
#include "stats/distributions.h"

namespace warpmark::stats {
namespace {

using Point = std::vector<double>;

double raw_speed_up(ScalingLaw law, std::span<const double> p, double n) {
  switch (law) {
    case ScalingLaw::amdahl: return n / (1 + p[0] * (n - 1));
    case ScalingLaw::gustafson: return n - p[0] * (n - 1);
    case ScalingLaw::usl: return n / (1 + p[0] * (n - 1) + p[1] * n * (n - 1));
  }
  return 0;
}

/// Sum of squares of log residuals with the best scale for these parameters; infinite where the law gives no speed.
class Squares {
 public:
  Squares(ScalingLaw law, std::span<const ScalingSample> samples) : law_(law), samples_(samples) {}

  double operator()(std::span<const double> parameters) const {
    double sum = 0, squares = 0;
    for (const auto& sample : samples_) {
      const double speed = raw_speed_up(law_, parameters, sample.workers);
      if (!(speed > 0) || !std::isfinite(speed)) return std::numeric_limits<double>::infinity();
      const double residual = std::log(sample.throughput / speed);
      sum += residual;
      squares += residual * residual;
    }
    const auto n = static_cast<double>(samples_.size());
    return std::max(0.0, squares - sum * sum / n);
  }
  [[nodiscard]] double scale(std::span<const double> parameters) const {
    double sum = 0;
    for (const auto& sample : samples_) {
      sum += std::log(sample.throughput / raw_speed_up(law_, parameters, sample.workers));
    }
    return std::exp(sum / static_cast<double>(samples_.size()));
  }

 private:
  ScalingLaw law_;
  std::span<const ScalingSample> samples_;
};

/// Nelder and Mead, The Computer Journal 7, 1965: one or two parameters, smooth sums of squares.
Point minimize(const Squares& squares, const Point& start, const Point& steps) {
  const std::size_t dimensions = start.size();
  std::vector<std::pair<double, Point>> simplex{{squares(start), start}};
  for (std::size_t i = 0; i < dimensions; ++i) {
    Point corner = start;
    corner[i] += steps[i];
    simplex.emplace_back(squares(corner), corner);
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (int turn = 0; turn < 500; ++turn) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    double spread = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      spread = std::max(spread, std::fabs(simplex.back().second[i] - simplex.front().second[i]) / steps[i]);
    }
    if (spread < 1e-9) break;
    Point centre(dimensions, 0);
    for (std::size_t k = 0; k < dimensions; ++k) {
      for (std::size_t i = 0; i < dimensions; ++i) centre[i] += simplex[k].second[i] / static_cast<double>(dimensions);
    }
    const auto along = [&](double factor) {
      Point point(dimensions);
      for (std::size_t i = 0; i < dimensions; ++i) {
        point[i] = centre[i] + factor * (simplex.back().second[i] - centre[i]);
      }
      return std::pair{squares(point), point};
    };
    auto next = along(-1);
    if (next.first < simplex.front().first) next = std::min(next, along(-2), by_value);
    if (next.first >= simplex[dimensions - 1].first) next = std::min(along(0.5), along(-0.5), by_value);
    if (next.first < simplex.back().first) {
      simplex.back() = next;
      continue;
    }
    for (std::size_t k = 1; k < simplex.size(); ++k) {
      for (std::size_t i = 0; i < dimensions; ++i) {
        simplex[k].second[i] = (simplex[k].second[i] + simplex.front().second[i]) / 2;
      }
      simplex[k].first = squares(simplex[k].second);
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), by_value)->second;
}

/// Start of the search: the laws are linear in n / throughput, or in throughput.
Point start_of(ScalingLaw law, std::span<const ScalingSample> samples) {
  const auto [few, many] = std::minmax_element(samples.begin(), samples.end(),
                                               [](const auto& a, const auto& b) { return a.workers < b.workers; });
  const double ratio = many->throughput / few->throughput, n = many->workers / few->workers;
  switch (law) {
    case ScalingLaw::amdahl: return {std::clamp((n / ratio - 1) / (n - 1), -0.4 / n, 1.0)};
    case ScalingLaw::gustafson: return {std::clamp((n - ratio) / (n - 1), -0.5, 0.99)};
    case ScalingLaw::usl: return {std::clamp((n / ratio - 1) / (n - 1) / 2, -0.2 / n, 1.0), 1e-4};
  }
  return {};
}

/// From the best point along a direction to where the sum of squares passes the limit.
Point border(const Squares& squares, const Point& best, const Point& direction, double limit) {
  const auto at = [&](double distance) {
    Point point = best;
    for (std::size_t i = 0; i < point.size(); ++i) point[i] += distance * direction[i];
    return point;
  };
  double inside = 0, outside = 1;
  for (int turn = 0; turn < 60 && squares(at(outside)) < limit; ++turn) inside = outside, outside *= 2;
  for (int turn = 0; turn < 40; ++turn) {
    const double middle = (inside + outside) / 2;
    (squares(at(middle)) < limit ? inside : outside) = middle;
  }
  return at(inside);
}

std::vector<Point> region_of(const Squares& squares, const Point& best, double limit, const Point& units) {
  std::vector<Point> region;
  if (best.size() == 1) {
    for (const double sign : {-1.0, 1.0}) region.push_back(border(squares, best, {sign * units[0]}, limit));
    return region;
  }
  // Rays in the directions of the axes' own scales: how far the region reaches along each when the other is free.
  const Point along_a = border(squares, best, {units[0], 0}, limit),
              along_b = border(squares, best, {0, units[1]}, limit);
  const double scale_a = std::max(std::fabs(along_a[0] - best[0]), 1e-12);
  const double scale_b = std::max(std::fabs(along_b[1] - best[1]), 1e-12);
  constexpr int kRays = 240;  // the region is a thin, slanted ellipse
  for (int ray = 0; ray < kRays; ++ray) {
    const double angle = 2 * std::numbers::pi * ray / kRays;
    region.push_back(border(squares, best, {scale_a * std::cos(angle), scale_b * std::sin(angle)}, limit));
  }
  return region;
}

std::string shortage(ScalingLaw law, std::span<const ScalingSample> samples) {
  const std::size_t parameters = law == ScalingLaw::usl ? 2 : 1;
  std::set<double> different;
  for (const auto& sample : samples) different.insert(sample.workers);
  if (different.size() < parameters + 1) {
    return "not enough points: " + std::to_string(different.size()) + " different numbers of workers, " +
           std::to_string(parameters + 1) + " are needed";
  }
  if (samples.size() < parameters + 2) {
    return "not enough points: " + std::to_string(samples.size()) + " measurements, " + std::to_string(parameters + 2) +
           " are needed";
  }
  return {};
}

}  // namespace

const char* name_of(ScalingLaw law) {
  switch (law) {
    case ScalingLaw::amdahl: return "Amdahl";
    case ScalingLaw::gustafson: return "Gustafson";
    case ScalingLaw::usl: return "USL";
  }
  return "";
}

ScalingFit fit_scaling(ScalingLaw law, std::span<const ScalingSample> samples, double confidence) {
  ScalingFit fit{.law = law, .parameters = {}, .intervals = {}, .reason = shortage(law, samples), .region = {}};
  if (!fit.ok()) return fit;
  const Squares squares(law, samples);
  const Point units = law == ScalingLaw::usl ? Point{0.05, 0.005} : Point{0.05};
  Point best = minimize(squares, start_of(law, samples), units);
  best = minimize(squares, best, units);  // a simplex that collapsed early gets a second one
  const double least = squares(best);
  const double degrees = static_cast<double>(samples.size()) - static_cast<double>(best.size()) - 1;
  fit.residual = std::sqrt(least / degrees);
  const double t = t_quantile_of_tail((1 - confidence) / 2, degrees);
  // Samples without any noise have a region of one point.
  const double limit = least * (1 + t * t / degrees) + 1e-15;
  fit.region = region_of(squares, best, limit, units);
  for (std::size_t i = 0; i < best.size(); ++i) {
    double low = best[i], high = best[i];
    for (const auto& point : fit.region) low = std::min(low, point[i]), high = std::max(high, point[i]);
    fit.intervals.push_back({std::max(low, 0.0), std::max(high, 0.0), confidence});
  }
  fit.single = squares.scale(best);
  fit.parameters = std::move(best);
  return fit;
}

double speed_up(ScalingLaw law, std::span<const double> parameters, double workers) {
  Point held(parameters.begin(), parameters.end());
  for (auto& value : held) value = std::max(value, 0.0);
  return std::max(raw_speed_up(law, held, workers), 0.0);
}

Forecast forecast(const ScalingFit& fit, double workers, double confidence) {
  WM_CHECK(fit.ok());
  Forecast told{workers, speed_up(fit.law, fit.parameters, workers), {}};
  double low = told.speed_up, high = told.speed_up;
  for (const auto& point : fit.region) {
    const double value = speed_up(fit.law, point, workers);
    low = std::min(low, value), high = std::max(high, value);
  }
  told.interval = {low, high, confidence};
  return told;
}

std::optional<double> usl_peak(const ScalingFit& fit) {
  if (!fit.ok() || fit.law != ScalingLaw::usl || !(fit.parameters[1] > 0)) return std::nullopt;
  return std::sqrt((1 - std::min(std::max(fit.parameters[0], 0.0), 1.0)) / fit.parameters[1]);
}

}  // namespace warpmark::stats
