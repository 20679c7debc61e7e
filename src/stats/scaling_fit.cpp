#include "stats/scaling_fit.h"

#include <boost/math/distributions/fisher_f.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "base/result.h"
#include "model/fields/names.h"
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

bool possible(std::span<const double> parameters) {
  return std::ranges::all_of(parameters, [](double value) { return value >= 0 && value <= 1; });
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

/// Nelder and Mead, The Computer Journal 7, 1965: one or two parameters, smooth sums of squares. What has no step is
/// held.
Point simplex_minimum(const Squares& squares, const Point& start, const Point& steps) {
  std::vector<std::pair<double, Point>> simplex{{squares(start), start}};
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (steps[i] <= 0) continue;
    Point corner = start;
    corner[i] += steps[i];
    simplex.emplace_back(squares(corner), corner);
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  const std::size_t dimensions = simplex.size() - 1, all = start.size();
  if (dimensions == 0) return start;
  for (int turn = 0; turn < 500; ++turn) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    double spread = 0;
    for (std::size_t i = 0; i < all; ++i) {
      if (steps[i] <= 0) continue;
      spread = std::max(spread, std::fabs(simplex.back().second[i] - simplex.front().second[i]) / steps[i]);
    }
    if (spread < 1e-9) break;
    Point centre(all, 0);
    for (std::size_t k = 0; k < dimensions; ++k) {
      for (std::size_t i = 0; i < all; ++i) centre[i] += simplex[k].second[i] / static_cast<double>(dimensions);
    }
    const auto along = [&](double factor) {
      Point point(all);
      for (std::size_t i = 0; i < all; ++i) {
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
      for (std::size_t i = 0; i < all; ++i) {
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

/// The least squares with every parameter within its limits, and how many of them are free.
struct Minimum {
  Point point;
  std::size_t free = 0;
};
Minimum constrained_minimum(const Squares& squares, const Point& start, const Point& units) {
  const auto minimum = [&](Point from, const Point& steps) {
    const Point best = simplex_minimum(squares, from, steps);
    return simplex_minimum(squares, best, steps);  // a simplex that collapsed early gets a second one
  };
  Minimum best{minimum(start, units), start.size()};
  if (possible(best.point)) return best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Point& from, const Point& steps) {
    const Point point = minimum(from, steps);
    const double value = squares(point);
    if (!possible(point) || value >= least) return;
    least = value;
    best = {point, static_cast<std::size_t>(std::ranges::count_if(steps, [](double step) { return step > 0; }))};
  };
  // One parameter at a limit, the other free or at a limit as well.
  for (std::size_t held = 0; held < start.size(); ++held) {
    for (const double limit : {0.0, 1.0}) {
      Point from = start, steps = units;
      from[held] = limit, steps[held] = 0;
      consider(from, steps);
      for (std::size_t other = 0; other < start.size(); ++other) {
        if (other == held) continue;
        for (const double second : {0.0, 1.0}) from[other] = second, consider(from, Point(start.size(), 0));
      }
    }
  }
  return best;
}

/// From the best point along a direction to where the sum of squares passes the limit. Where a parameter ends before,
/// the point there as well, and from there on along its end.
std::vector<Point> border(const Squares& squares, const Point& best, const Point& direction, double limit) {
  const auto at = [&](double distance) {
    Point point = best;
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = std::clamp(point[i] + distance * direction[i], 0.0, 1.0);
    return point;
  };
  const auto beyond = [&](double distance) {
    for (std::size_t i = 0; i < best.size(); ++i) {
      const double value = best[i] + distance * direction[i];
      if (value < 0 || value > 1) return true;
    }
    return false;
  };
  const auto furthest = [&](const auto& within) {
    double inside = 0, outside = 1;
    for (int turn = 0; turn < 60 && within(outside); ++turn) inside = outside, outside *= 2;
    for (int turn = 0; turn < 40; ++turn) {
      const double middle = (inside + outside) / 2;
      (within(middle) ? inside : outside) = middle;
    }
    return std::pair{inside, outside};
  };
  const auto holds = [&](double distance) { return squares(at(distance)) < limit; };
  std::vector<Point> points{at(furthest(holds).first)};
  if (std::ranges::none_of(points.front(), [](double value) { return value == 0 || value == 1; })) return points;
  const double outside = furthest([&](double distance) { return holds(distance) && !beyond(distance); }).second;
  if (holds(outside)) points.push_back(at(outside));
  return points;
}

std::vector<Point> region_of(const Squares& squares, const Point& best, double limit, const Point& units) {
  std::vector<Point> region;
  const auto add = [&](const Point& direction) {
    std::ranges::move(border(squares, best, direction, limit), std::back_inserter(region));
  };
  if (best.size() == 1) {
    for (const double sign : {-1.0, 1.0}) add({sign * units[0]});
    return region;
  }
  // Rays in the directions of the axes' own scales: how far the region reaches along each when the other is free.
  const auto reach = [&](std::size_t i) {
    double most = 1e-12;
    for (const double sign : {-1.0, 1.0}) {
      Point direction(best.size(), 0);
      direction[i] = sign * units[i];
      most = std::max(most, std::fabs(border(squares, best, direction, limit).front()[i] - best[i]));
    }
    return most;
  };
  const double scale_a = reach(0), scale_b = reach(1);
  constexpr int kRays = 240;  // the region is a thin, slanted ellipse
  for (int ray = 0; ray < kRays; ++ray) {
    const double angle = 2 * std::numbers::pi * ray / kRays;
    add({scale_a * std::cos(angle), scale_b * std::sin(angle)});
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

using FDistribution = boost::math::fisher_f_distribution<double, DoublePolicy>;

/// P(F > ratio), and the ratio with P(F <= ratio) = p.
double f_tail(double ratio, double first_degrees, double second_degrees) {
  return boost::math::cdf(boost::math::complement(FDistribution(first_degrees, second_degrees), ratio));
}
double f_quantile(double p, double first_degrees, double second_degrees) {
  return boost::math::quantile(FDistribution(first_degrees, second_degrees), p);
}

/// How far the mean of each number of workers is off, and whether that is more than repetitions explain.
void compare_with_repetitions(std::span<const ScalingSample> samples, double least, double fitted, ScalingFit& fit) {
  std::map<double, std::vector<double>> by_workers;
  for (const auto& sample : samples) {
    const double predicted = fit.single * speed_up(fit.law, fit.parameters, sample.workers);
    by_workers[sample.workers].push_back(std::log(sample.throughput / predicted));
  }
  double within = 0;
  for (const auto& [workers, residuals] : by_workers) {
    double mean = 0;
    for (const double residual : residuals) mean += residual / static_cast<double>(residuals.size());
    for (const double residual : residuals) within += (residual - mean) * (residual - mean);
    fit.off.emplace_back(workers, std::expm1(mean));
  }
  const double numbers = static_cast<double>(by_workers.size()), n = static_cast<double>(samples.size());
  if (numbers <= fitted || n <= numbers || within <= 0) return;
  const double ratio = std::max(0.0, least - within) / (numbers - fitted) / (within / (n - numbers));
  fit.lack_of_fit_p = f_tail(ratio, numbers - fitted, n - numbers);
}

constexpr std::size_t kFewestSizes = 3;

struct Sums {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
};

}  // namespace

constexpr auto kScalingLawNames = in_order(ScalingLaw::usl, "Amdahl", "Gustafson", "USL");
const char* name_of(ScalingLaw law) { return name_in(kScalingLawNames, static_cast<std::int64_t>(law)); }

ScalingFit fit_scaling(ScalingLaw law, std::span<const ScalingSample> samples, double confidence) {
  ScalingFit fit{.law = law, .parameters = {}, .intervals = {}, .reason = shortage(law, samples), .region = {}};
  if (!fit.ok()) return fit;
  const Squares squares(law, samples);
  const Point units = law == ScalingLaw::usl ? Point{0.05, 0.005} : Point{0.05};
  const auto [best, free] = constrained_minimum(squares, start_of(law, samples), units);
  const double least = squares(best);
  const auto n = static_cast<double>(samples.size());
  const double degrees = n - static_cast<double>(best.size()) - 1;
  fit.residual = std::sqrt(least / degrees);
  // Samples without any noise have a region of one point.
  const double fitted = static_cast<double>(best.size()) + 1;
  const double limit = least * (1 + fitted / degrees * f_quantile(confidence, fitted, degrees)) + 1e-15;
  fit.region = region_of(squares, best, limit, units);
  for (std::size_t i = 0; i < best.size(); ++i) {
    double low = best[i], high = best[i];
    for (const auto& point : fit.region) low = std::min(low, point[i]), high = std::max(high, point[i]);
    fit.intervals.push_back({low, high, confidence});
  }
  fit.single = squares.scale(best);
  fit.parameters = best;
  const double k = static_cast<double>(free) + 2;  // with scale and variance
  constexpr double kLeast = 1e-20;                 // of data without noise
  fit.aicc = n - k - 1 > 0 ? n * std::log(std::max(least / n, kLeast)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
                           : std::numeric_limits<double>::infinity();
  compare_with_repetitions(samples, least, static_cast<double>(free) + 1, fit);
  return fit;
}

double speed_up(ScalingLaw law, std::span<const double> parameters, double workers) {
  return std::max(raw_speed_up(law, parameters, workers), 0.0);
}

Forecast forecast(const ScalingFit& fit, double workers, double confidence) {
  WM_CHECK(fit.ok());
  Forecast reported{workers, speed_up(fit.law, fit.parameters, workers), {}};
  double low = reported.speed_up, high = reported.speed_up;
  for (const auto& point : fit.region) {
    const double value = speed_up(fit.law, point, workers);
    low = std::min(low, value), high = std::max(high, value);
  }
  reported.interval = {low, high, confidence};
  return reported;
}

std::optional<double> usl_peak(const ScalingFit& fit) {
  if (!fit.ok() || fit.law != ScalingLaw::usl || !(fit.parameters[1] > 0)) return std::nullopt;
  return std::max(1.0, std::sqrt((1 - fit.parameters[0]) / fit.parameters[1]));
}

double FixedCost::fixed_share(double items) const {
  const double fixed = std::max(0.0, fixed_s), whole = fixed + std::max(0.0, per_item_s) * items;
  return whole > 0 ? fixed / whole : 0;
}

std::optional<FixedCost> fixed_cost(std::span<const SizedTime> times, double confidence) {
  Sums sums;
  std::map<double, std::pair<double, double>> by_size;  // sum and count of the times
  for (const auto& [items, seconds] : times) {
    if (!(seconds > 0) || !std::isfinite(seconds) || !std::isfinite(items)) return std::nullopt;
    const double w = 1 / (seconds * seconds);
    sums.w += w;
    sums.wx += w * items;
    sums.wy += w * seconds;
    sums.wxx += w * items * items;
    sums.wxy += w * items * seconds;
    by_size[items].first += seconds;
    by_size[items].second += 1;
  }
  if (by_size.size() < kFewestSizes) return std::nullopt;
  const double determinant = sums.w * sums.wxx - sums.wx * sums.wx;
  if (!(determinant > 0)) return std::nullopt;
  FixedCost cost;
  cost.per_item_s = (sums.w * sums.wxy - sums.wx * sums.wy) / determinant;
  cost.fixed_s = (sums.wxx * sums.wy - sums.wx * sums.wxy) / determinant;
  double squares = 0;
  for (const auto& [items, seconds] : times) {
    const double rest = (seconds - cost.fixed_s - cost.per_item_s * items) / seconds;
    squares += rest * rest;
  }
  const auto degrees = static_cast<double>(times.size()) - 2;
  const double variance = squares / degrees, t = t_quantile_of_tail((1 - confidence) / 2, degrees);
  const double of_fixed = t * std::sqrt(variance * sums.wxx / determinant);
  const double of_item = t * std::sqrt(variance * sums.w / determinant);
  cost.fixed_interval = {cost.fixed_s - of_fixed, cost.fixed_s + of_fixed, confidence};
  cost.per_item_interval = {cost.per_item_s - of_item, cost.per_item_s + of_item, confidence};
  for (const auto& [items, sum] : by_size) {
    const double line = cost.fixed_s + cost.per_item_s * items, mean = sum.first / sum.second;
    cost.worst_misfit = std::max(cost.worst_misfit, line > 0 ? std::fabs(mean / line - 1) : 1.0);
  }
  return cost;
}

}  // namespace warpmark::stats
