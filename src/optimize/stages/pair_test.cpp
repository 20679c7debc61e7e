#include "optimize/stages/pair_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::optimize {

PairVerdict judge_pairs(std::span<const double> before_s, std::span<const double> after_s, double effect, double alpha,
                        const PairPrior& prior) {
  const auto n = std::min(before_s.size(), after_s.size());
  WM_CHECK(n > 0);
  std::vector<double> logs;
  for (std::size_t i = 0; i < n; ++i) logs.push_back(std::log(before_s[i] / after_s[i]));
  const auto [count, mean, squares] = stats::moments_of(logs);
  const double degrees = prior.weight + count - 1;
  const double variance = (prior.weight * prior.spread * prior.spread + squares) / degrees;
  const double probe = std::max(1.0, count - 1);  // the first is at two pairs
  const double spent = alpha * 6 / (std::numbers::pi * std::numbers::pi * probe * probe);
  const double half_width = stats::t_quantile_of_tail(spent / 2, degrees) * std::sqrt(variance / count);
  PairVerdict result{.speedup = {.ratio = std::exp(mean),
                                 .low = std::exp(mean - half_width),
                                 .high = std::exp(mean + half_width),
                                 .confidence = 1 - alpha}};
  const double matters = std::log1p(effect);
  if (n < 2) {
    constexpr double kFarOff = 4;  // standard deviations: one pair shows a setting that is much slower
    result.futile = mean + kFarOff * prior.spread < 0;
    return result;
  }
  if (mean - half_width > 0 && mean >= matters / 2) {
    result.verdict = Verdict::better;
  } else if (mean + half_width < 0 && mean <= -matters / 2) {
    result.verdict = Verdict::worse;
  } else if (mean - half_width > -matters && mean + half_width < matters) {
    result.verdict = Verdict::same;
  } else {
    // Two standard errors in its favor: a bound for giving up, not for a verdict.
    result.futile = mean + 2 * std::sqrt(variance / count) < matters / 2;
  }
  return result;
}

constexpr double kClear = 1.1;

bool is_worth_proof(const SpeedUp& estimate) {
  return estimate.ratio >= kClear && estimate.low >= 1;
}

bool needs_blocks(const PairVerdict& judged, bool decide) {
  constexpr double kWide = 1.3;
  const auto& gain = judged.speedup;
  const bool hopeful = gain.ratio > 1 && gain.high >= kClear;  // else the time is better spent on other settings
  const bool wide = hopeful && gain.high > kWide * gain.low && !is_worth_proof(gain);
  return judged.verdict == Verdict::inconclusive && (decide || wide);
}

}  // namespace warpmark::optimize
