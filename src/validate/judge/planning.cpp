#include "validate/judge/planning.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "stats/distributions.h"
#include "stats/tests/sequential.h"

namespace warpmark::validate {
namespace {

constexpr std::int64_t kMostRounds = 1'000'000;
constexpr std::int64_t kFewestByT = 3;
constexpr double kPower = 0.9;
// How far the estimate may wander in the 90 % of cases that shall be decided: equal variants have a border on both
// sides.
constexpr double kWandering = 1.6449;
const double kInfinity = std::numeric_limits<double>::infinity();
// Spreads that are alike probable, in place of their distribution.
constexpr std::size_t kSpreads = 20;
// A few rounds that agree by chance would promise anything.
constexpr double kFewestDegrees = 6;

using Spreads = std::array<double, kSpreads>;

/// The true spread, given one that was estimated with so many degrees of freedom (0: it is known).
Spreads spreads_of(double stdev, double degrees) {
  Spreads spreads{};
  spreads.fill(stdev);
  if (degrees <= 0) return spreads;
  degrees = std::max(degrees, kFewestDegrees);
  const boost::math::chi_squared_distribution<double, stats::DoublePolicy> distribution(degrees);
  for (std::size_t i = 0; i < kSpreads; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kSpreads);
    spreads[i] = stdev * std::sqrt(degrees / boost::math::quantile(distribution, share));
  }
  return spreads;
}

/// What the spread will be estimated as from so many degrees of freedom, in shares of the true one: alike probable
/// values.
Spreads estimates_of_spread(double degrees) {
  Spreads estimates{};
  const boost::math::chi_squared_distribution<double, stats::DoublePolicy> distribution(std::max(1.0, degrees));
  for (std::size_t i = 0; i < kSpreads; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kSpreads);
    estimates[i] = std::sqrt(boost::math::quantile(distribution, share) / std::max(1.0, degrees));
  }
  return estimates;
}

/// The first n from `from` on for which `chance` reaches the power.
template <typename Chance>
std::int64_t first_with_power(std::int64_t from, const Chance& chance) {
  std::int64_t low = from, high = kMostRounds;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (chance(middle) >= kPower) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Chance that a normal value lies in [-border, border], or outside of it.
double inside(double border, double mean, double stdev) {
  if (border <= 0) return 0;
  if (stdev <= 0) return std::fabs(mean) <= border ? 1 : 0;
  return stats::normal_cdf((border - mean) / stdev) - stats::normal_cdf((-border - mean) / stdev);
}
double outside(double border, double mean, double stdev) {
  if (!std::isfinite(border)) return 0;
  if (stdev <= 0) return std::fabs(mean) >= border ? 1 : 0;
  return stats::normal_tail((border - mean) / stdev) + stats::normal_cdf((-border - mean) / stdev);
}

/// Chance that a comparison that stands like this has a verdict after n rounds, its spread being `stdev`.
double chance_of_verdict(const Effect& effect, std::int64_t n, double stdev, const VerdictOptions& options,
                         const VerdictOptions& adjusted) {
  const double limit = std::log1p(options.effect);
  const double same = limit - half_width(n, stdev, options);
  const double different = std::max(half_width(n, stdev, adjusted), limit / 2);
  if (same >= different) return 1;
  const double wandering =
      stdev * std::sqrt(std::max(0.0, 1 / static_cast<double>(effect.n) - 1 / static_cast<double>(n)));
  return inside(same, effect.log_ratio, wandering) + outside(different, effect.log_ratio, wandering);
}

}  // namespace

double half_width(std::int64_t n, double stdev, const VerdictOptions& options) {
  if (options.paired && options.sequential) return stats::sequential_half_width(n, stdev, {.alpha = options.alpha});
  if (n < kFewestByT) return kInfinity;
  const double degrees = static_cast<double>(options.paired ? n - 1 : 2 * n - 2);
  return stats::t_quantile_of_tail(options.alpha / 2, degrees) * stdev / std::sqrt(static_cast<double>(n));
}

std::int64_t fewest_rounds(const VerdictOptions& options) {
  std::int64_t n = 2;
  while (n < 100 && !std::isfinite(half_width(n, 1, options))) ++n;
  return n;
}

std::int64_t rounds_needed(double stdev, double distance, const VerdictOptions& options, double degrees) {
  WM_CHECK(distance > 0);
  const Spreads spreads = spreads_of(stdev, degrees);
  return first_with_power(fewest_rounds(options), [&](std::int64_t n) {
    double chance = 0;
    const double unit_width = half_width(n, 1, options);
    const Spreads estimates = estimates_of_spread(static_cast<double>(options.paired ? n - 1 : 2 * n - 2));
    for (const double spread : spreads) {
      const double wandering = spread / std::sqrt(static_cast<double>(n));
      for (const double estimate : estimates) {
        chance += inside(distance - estimate * spread * unit_width, 0, wandering) / (kSpreads * kSpreads);
      }
    }
    return chance;
  });
}

RoundsToDecide rounds_to_decide(const Effect& effect, std::int64_t metrics, const VerdictOptions& options) {
  WM_CHECK(effect.n >= 1 && metrics >= 1);
  VerdictOptions adjusted = options;
  adjusted.alpha = options.alpha / static_cast<double>(metrics);
  const double degrees = static_cast<double>((options.paired ? 1 : 2) * std::max<std::int64_t>(1, effect.n - 1));
  const Spreads spreads = spreads_of(effect.worth_stdev, degrees);
  const std::int64_t from = std::max(effect.n + 1, fewest_rounds(options));
  RoundsToDecide rounds;
  rounds.as_measured = first_with_power(from, [&](std::int64_t n) {
    double chance = 0;
    for (const double spread : spreads) chance += chance_of_verdict(effect, n, spread, options, adjusted) / kSpreads;
    return chance;
  });
  rounds.either_way = rounds.as_measured;
  if (effect.p.value_or(1) > adjusted.alpha) {
    rounds.either_way =
        std::max(rounds.as_measured, rounds_needed(effect.worth_stdev, std::log1p(options.effect), options, degrees));
  }
  return rounds;
}

double detectable_effect(double stdev, std::int64_t n, const VerdictOptions& options) {
  return std::expm1(half_width(n, stdev, options) + kWandering * stdev / std::sqrt(static_cast<double>(n)));
}

}  // namespace warpmark::validate
