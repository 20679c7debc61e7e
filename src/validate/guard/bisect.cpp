#include "validate/guard/bisect.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace warpmark::validate {
namespace {

/// Bits that a yes or no of this probability tells.
double entropy(double p) {
  if (p <= 0 || p >= 1) return 0;
  return -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

/// Squared deviations from the mean of the points on one side of a step.
double squares_of(std::span<const CommitResult> points, std::size_t step, bool after) {
  double n = 0, sum = 0, squares = 0;
  for (const auto& point : points) {
    if ((point.index >= step) != after) continue;
    const double value = std::log(point.value);
    n += 1;
    sum += value;
    squares += value * value;
  }
  return n > 0 ? std::max(0.0, squares - sum * sum / n) : 0;
}

}  // namespace

CulpritSearch::CulpritSearch(std::size_t n, double error, std::span<const double> prior)
    : error_(error), weights_(n + 1, 0), state_(n + 1, State::unknown) {
  WM_CHECK(n >= 1 && error > 0 && error < 0.5 && (prior.empty() || prior.size() == n));
  for (std::size_t k = 1; k <= n; ++k) weights_[k] = prior.empty() ? 1 : prior[k - 1];
  state_.front() = state_.back() = State::asked;
  normalize();
}

void CulpritSearch::normalize() {
  double sum = 0;
  for (const double weight : weights_) sum += weight;
  WM_CHECK(sum > 0);
  for (double& weight : weights_) weight /= sum;
}

void CulpritSearch::answer(std::size_t index, double bad_probability) {
  WM_CHECK(index > 0 && index + 1 < state_.size());
  state_[index] = State::asked;
  const double bad = std::clamp(bad_probability, error_, 1 - error_);
  for (std::size_t k = 1; k < weights_.size(); ++k) weights_[k] *= k <= index ? bad : 1 - bad;
  normalize();
}

void CulpritSearch::skip(std::size_t index) {
  WM_CHECK(index > 0 && index + 1 < state_.size());
  state_[index] = State::skipped;
}

void CulpritSearch::confirm(const Suspects& suspects, bool differs) {
  for (std::size_t k = 1; k < weights_.size(); ++k) {
    const bool suspect = k >= suspects.first && k <= suspects.last;
    weights_[k] *= suspect == differs ? 1 - error_ : error_;
  }
  normalize();
}

Suspects CulpritSearch::best() const {
  Suspects best, current{.first = 1, .last = 1};
  for (std::size_t k = 1; k < weights_.size(); ++k) {
    if (k == 1 || !skipped(k - 1)) current = {.first = k, .last = k};
    current.last = k;
    current.probability += weights_[k];
    const bool complete = k + 1 == weights_.size() || !skipped(k);
    if (complete && current.probability > best.probability) best = current;
  }
  return best;
}

Suspects CulpritSearch::credible(double probability) const {
  Suspects set = best();
  while (set.probability < probability) {
    const double before = set.first > 1 ? weights_[set.first - 1] : -1;
    const double after = set.last + 1 < weights_.size() ? weights_[set.last + 1] : -1;
    if (before < 0 && after < 0) break;
    if (before > after) {
      --set.first;
      set.probability += before;
    } else {
      ++set.last;
      set.probability += after;
    }
  }
  return set;
}

double CulpritSearch::chance_to_work(std::size_t index) const {
  // The gap between the nearest measured neighbours is the scale: near a broken commit most of a wide gap is left.
  std::size_t low = index, high = index, nearest = state_.size();
  while (state_[low] != State::asked) {
    if (skipped(low)) nearest = std::min(nearest, index - low);
    --low;
  }
  while (state_[high] != State::asked) {
    if (skipped(high)) nearest = std::min(nearest, high - index);
    ++high;
  }
  if (nearest == state_.size()) return 1;
  const double scale = std::max(1.0, static_cast<double>(high - low) / 8);
  return 1 - 0.75 * std::exp(-(static_cast<double>(nearest) - 1) / scale);
}

std::optional<std::size_t> CulpritSearch::next() const {
  std::optional<std::size_t> chosen;
  double most = 1e-9, bad = 0;
  for (std::size_t index = 1; index + 1 < weights_.size(); ++index) {
    bad += weights_[index];
    if (state_[index] != State::unknown) continue;
    const double use = entropy(bad) * chance_to_work(index);
    if (use <= most) continue;
    most = use;
    chosen = index;
  }
  return chosen;
}

std::vector<double> prior_from_history(std::size_t n, std::span<const CommitResult> points) {
  constexpr std::size_t kFewest = 4;
  constexpr double kAllAlike = 0.1;
  if (points.size() < kFewest || n < 2) return {};
  const double flat = squares_of(points, 0, true);
  if (!(flat > 0)) return {};
  std::vector<double> weights;
  double sum = 0;
  const auto count = static_cast<double>(points.size());
  for (std::size_t k = 1; k <= n; ++k) {
    // A floor under the rest: agreement to the last digit is no infinite certainty.
    const double rest = std::max(squares_of(points, k, false) + squares_of(points, k, true), flat * 1e-6);
    weights.push_back(std::pow(flat / rest, count / 2));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight = (1 - kAllAlike) * weight / sum + kAllAlike / static_cast<double>(n);
  }
  return weights;
}

}  // namespace warpmark::validate
