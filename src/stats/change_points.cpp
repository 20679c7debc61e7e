#include "stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/drift.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

struct Split {
  std::int64_t index = 0;  ///< of the first value on the right
  double energy = -1;
  std::int64_t end = 0;  ///< of the values on the right
};

struct Candidate {
  ChangePoint point;
  double p_without_one = 0;  ///< session, the one that speaks most for the change
};

class Detector {
 public:
  Detector(std::span<const double> series, const ChangePointOptions& options)
      : series_(series.begin(), series.end()), place_(series.size()), options_(options) {
    std::iota(place_.begin(), place_.end(), 0);
  }

  std::vector<ChangePoint> run() {
    const double p = options_.max_p;
    // Weak change points are found with a looser p: merging makes segments longer and their tests stronger.
    weak_p_ = p < 0.05 ? p * 10 : p < 0.5 ? p * 2 : p;
    const auto weak = weak_points();
    return corrected() ? settled(weak) : merged(weak);
  }

 private:
  [[nodiscard]] bool corrected() const { return options_.autocorrelation && !options_.published; }

  /// Weak points take much of the correlation for changes, and outliers for levels: the fewer of them are left, the
  /// more shows of what the noise is. Thus in turns, until nothing changes.
  std::vector<ChangePoint> settled(std::vector<std::int64_t> places) {
    for (;;) {
      rho_ = largest_rho(series_, places);
      auto points = merged(places);
      const bool fewer = points.size() < places.size();
      places.clear();
      for (const auto& point : points) places.push_back(point.index);
      if (set_aside_outliers(places) || fewer) continue;
      if (lasting_) {
        for (auto& point : points) point.index = place_[static_cast<std::size_t>(point.index)];
        return points;
      }
      lasting_ = true;
    }
  }

  /// A session between two changes is no level: it leaves the series, and the second of the changes is left.
  bool set_aside_outliers(std::vector<std::int64_t>& places) {
    std::vector<std::int64_t> left;
    std::int64_t gone = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t index = places[i] - gone;
      if (i + 1 == places.size() || places[i + 1] != places[i] + 1) {
        left.push_back(index);
        continue;
      }
      series_.erase(series_.begin() + index);
      place_.erase(place_.begin() + index);
      ++gone;
    }
    places = std::move(left);
    return gone > 0;
  }

  [[nodiscard]] std::span<const double> part(std::int64_t begin, std::int64_t end) const {
    return std::span(series_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  [[nodiscard]] ChangePoint test(std::int64_t begin, std::int64_t index, std::int64_t end) const {
    const Moments left = moments_of(part(begin, index)), right = moments_of(part(index, end));
    const double lost = options_.published ? 0 : 1;
    const auto variance = [&](const Moments& side) { return side.n > 1 ? side.squares / (side.n - lost) : 0; };
    ChangePoint point{.index = index, .mean_before = left.mean, .mean_after = right.mean};
    const double degrees = left.n + right.n - 2;
    if (degrees <= 0) return point;
    const double pooled = ((left.n - 1) * variance(left) + (right.n - 1) * variance(right)) / degrees;
    const double error = std::sqrt(pooled * (1 / left.n + 1 / right.n));
    const double difference = std::fabs(left.mean - right.mean);
    if (error > 0) {
      point.p = 2 * t_tail(difference / error, degrees);
    } else {
      point.p = difference > 0 ? 0 : 1;
    }
    // Correlation never makes anybody more certain.
    if (rho_) point.p = std::max(point.p, step_p(part(begin, end), index - begin, *rho_));
    return point;
  }

  /// The larger p of the two that are left when the value of either side that is farthest from the other is taken away.
  [[nodiscard]] double p_without_one(std::int64_t begin, std::int64_t end, const ChangePoint& point) const {
    if (point.index - begin < 2 || end - point.index < 2) return 1;
    const auto values = part(begin, end);
    const auto at = values.begin() + (point.index - begin);
    const bool rises = point.mean_after > point.mean_before;
    const auto without = [&](auto value) {
      std::vector<double> rest(values.begin(), value);
      rest.insert(rest.end(), value + 1, values.end());
      return step_p(rest, point.index - begin - (value < at ? 1 : 0), *rho_);
    };
    return std::max(without(rises ? std::min_element(values.begin(), at) : std::max_element(values.begin(), at)),
                    without(rises ? std::max_element(at, values.end()) : std::min_element(at, values.end())));
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
        if (energy <= best.energy) continue;
        best = {begin + static_cast<std::int64_t>(tau), energy, begin + static_cast<std::int64_t>(kappa)};
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
      // As published up to the end of the segment, where a level that has gone again is not seen to differ.
      const std::int64_t tested_end = corrected() ? chosen.split.end : chosen.end;
      if (!(test(chosen.begin, chosen.split.index, tested_end).p <= weak_p_)) break;
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

  [[nodiscard]] Candidate tested(const std::vector<Candidate>& candidates, std::size_t i) const {
    const std::int64_t begin = i == 0 ? 0 : candidates[i - 1].point.index;
    const std::int64_t end =
        i + 1 < candidates.size() ? candidates[i + 1].point.index : static_cast<std::int64_t>(series_.size());
    Candidate candidate{.point = test(begin, candidates[i].point.index, end)};
    if (lasting_) candidate.p_without_one = p_without_one(begin, end, candidate.point);
    return candidate;
  }

  /// The one to drop next: the least significant one, then one that hangs on a single session, then the smallest.
  [[nodiscard]] std::vector<Candidate>::iterator superfluous(std::vector<Candidate>& candidates) const {
    const auto largest = [&](auto&& measure) {
      return std::max_element(candidates.begin(), candidates.end(),
                              [&](const Candidate& a, const Candidate& b) { return measure(a) < measure(b); });
    };
    auto found = largest([](const Candidate& candidate) { return candidate.point.p; });
    if (found == candidates.end() || !(found->point.p < options_.max_p)) return found;
    if (rho_ && !lasting_) return candidates.end();
    found = largest([](const Candidate& candidate) { return candidate.p_without_one; });
    if (!(found->p_without_one < options_.max_p)) return found;
    found = largest([](const Candidate& candidate) { return -candidate.point.magnitude(); });
    return found->point.magnitude() <= options_.min_magnitude ? found : candidates.end();
  }

  [[nodiscard]] std::vector<ChangePoint> merged(const std::vector<std::int64_t>& places) const {
    std::vector<Candidate> candidates;
    for (const auto index : places) candidates.push_back({.point = {.index = index}});
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i] = tested(candidates, i);
    for (auto next = superfluous(candidates); next != candidates.end(); next = superfluous(candidates)) {
      const auto at = static_cast<std::size_t>(next - candidates.begin());
      candidates.erase(next);
      // The point after the erased one is now at its place, the one before it at at - 1. Otava updates at and at + 1.
      const std::size_t first = options_.published ? at : at == 0 ? 0 : at - 1;
      for (std::size_t i = first; i < first + 2 && i < candidates.size(); ++i) candidates[i] = tested(candidates, i);
    }
    std::vector<ChangePoint> points;
    for (const auto& candidate : candidates) points.push_back(candidate.point);
    return points;
  }

  std::vector<double> series_;       ///< without outliers
  std::vector<std::int64_t> place_;  ///< of each value in the series that was given
  const ChangePointOptions& options_;
  double weak_p_ = 0;
  std::optional<double> rho_;  ///< of the noise; none while it is not looked at
  bool lasting_ = false;       ///< whether a change must be more than one session
};

/// The newest value lies beyond what those of its level, from `begin` on, predict.
bool is_out_of_line(std::span<const double> series, std::int64_t begin, double max_p) {
  const auto level =
      series.subspan(static_cast<std::size_t>(begin), series.size() - 1 - static_cast<std::size_t>(begin));
  const Moments before = moments_of(level);
  if (before.n < 3) return false;
  const double error = std::sqrt(before.squares / (before.n - 1) * (1 + 1 / before.n));
  const double difference = std::fabs(series.back() - before.mean);
  return error > 0 ? 2 * t_tail(difference / error, before.n - 1) < max_p : difference > 0;
}

/// Of the newest session nothing that follows tells whether it is a level. Where it alone is out of line, and hides
/// what the others show, it is set aside as any outlier is.
std::vector<ChangePoint> without_newest(std::span<const double> series, const ChangePointOptions& options,
                                        std::vector<ChangePoint> found) {
  constexpr std::size_t kFewest = 5;
  if (!options.autocorrelation || options.published || series.size() < kFewest) return found;
  auto others = Detector(series.first(series.size() - 1), options).run();
  const bool more = others.size() > found.size();
  return more && is_out_of_line(series, others.back().index, options.max_p) ? others : found;
}

/// Whether no change can be large enough: levels are means, which lie between the smallest and the largest value.
bool is_even(std::span<const double> series, double min_magnitude) {
  if (series.empty()) return true;
  const auto [least, most] = std::ranges::minmax(series);
  return least > 0 && most / least - 1 <= min_magnitude;
}

}  // namespace

double ChangePoint::magnitude() const {
  if (mean_before == mean_after) return 0;
  if (mean_before == 0 || mean_after == 0) return std::numeric_limits<double>::infinity();
  return std::max(std::fabs(mean_after / mean_before - 1), std::fabs(mean_before / mean_after - 1));
}

std::vector<ChangePoint> change_points(std::span<const double> series, const ChangePointOptions& options) {
  WM_CHECK(options.window >= 2 && options.max_p > 0);
  for (const double value : series) WM_CHECK(std::isfinite(value));
  if (is_even(series, options.min_magnitude)) return {};
  return without_newest(series, options, Detector(series, options).run());
}

}  // namespace warpmark::stats
