#include "stats/tests/compare.h"

#include <fmt/format.h>
#include <boost/math/special_functions/binomial.hpp>

#include <numeric>

#include "base/result.h"
#include "model/fields/names.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::stats {
namespace {

// Relative differences and spreads below this are rounding of the arithmetic, not of the timer.
constexpr double kRounding = 1e-13;

constexpr const char* kNoNoise =
    "all rounds of each side have the same median, so the noise cannot be estimated; 4 rounds on each side would "
    "decide";

struct LogMoments {
  double n = 0;
  double mean = 0;
  double variance = 0;  ///< Bessel-corrected
};

LogMoments log_moments(std::span<const double> medians) {
  LogMoments moments;
  moments.n = static_cast<double>(medians.size());
  for (const double median : medians) moments.mean += std::log(median) / moments.n;
  for (const double median : medians) {
    const double deviation = std::log(median) - moments.mean;
    moments.variance += deviation * deviation / (moments.n - 1);
  }
  return moments;
}

struct Welch {
  double degrees = 0;
  double standard_error = 0;
};

Welch welch(const LogMoments& a, const LogMoments& b) {
  const double share_a = a.variance / a.n, share_b = b.variance / b.n;
  const double sum = share_a + share_b;
  return {sum * sum / (share_a * share_a / (a.n - 1) + share_b * share_b / (b.n - 1)), std::sqrt(sum)};
}

Difference direction(double ratio, Better better) {
  if (better == Better::neither) return Difference::different;
  return (ratio < 1) == (better == Better::lower) ? Difference::better : Difference::worse;
}

/// The verdict that a p value (adjusted or not) supports.
void decide(Comparison& comparison, double p, double alpha) {
  if (p <= alpha) {
    comparison.difference = direction(comparison.ratio, comparison.better);
    comparison.reason.clear();
  } else if (comparison.ratio_interval) {
    comparison.difference = Difference::indistinguishable;
  } else {
    comparison.difference = Difference::undecidable;
    comparison.reason = kNoNoise;
  }
}

std::string why_undecidable(const char* name, const Side& side, std::span<const double> medians) {
  const auto sum = std::accumulate(side.round_sizes.begin(), side.round_sizes.end(), std::int64_t{0});
  if (sum != static_cast<std::int64_t>(side.samples.size())) {
    return fmt::format("the {}'s rounds have {} samples together, but there are {}", name, sum, side.samples.size());
  }
  if (static_cast<std::int64_t>(medians.size()) < kRoundsNeeded) {
    return fmt::format("the {} has {} round{}, at least {} are needed to estimate the noise between rounds", name,
                       medians.size(), medians.size() == 1 ? "" : "s", kRoundsNeeded);
  }
  const auto lowest = std::min_element(medians.begin(), medians.end());
  if (!(*lowest > 0) || !std::isfinite(*std::max_element(medians.begin(), medians.end()))) {
    return fmt::format("a round of the {} has the median {:g}; a ratio needs values above 0", name, *lowest);
  }
  return {};
}

}  // namespace

constexpr auto kDifferenceNames =
    in_order(Difference::undecidable, "better", "worse", "different", "indistinguishable", "undecidable");
const char* name_of(Difference difference) { return name_in(kDifferenceNames, static_cast<std::int64_t>(difference)); }

std::vector<double> round_medians(const Side& side) {
  std::vector<double> medians;
  std::size_t begin = 0;
  for (const std::int64_t size : side.round_sizes) {
    if (size < 0 || static_cast<std::size_t>(size) > side.samples.size() - begin) return {};
    if (size > 0) medians.push_back(median(side.samples.subspan(begin, static_cast<std::size_t>(size))));
    begin += static_cast<std::size_t>(size);
  }
  if (begin != side.samples.size()) return {};
  return medians;
}

Comparison compare(const Side& baseline, const Side& candidate, const CompareOptions& options) {
  const auto before = round_medians(baseline), after = round_medians(candidate);
  Comparison comparison;
  comparison.better = options.better;
  comparison.reason = why_undecidable("baseline", baseline, before);
  if (comparison.reason.empty()) comparison.reason = why_undecidable("candidate", candidate, after);
  if (!comparison.reason.empty()) return comparison;

  const LogMoments a = log_moments(before), b = log_moments(after);
  const double log_ratio = b.mean - a.mean;
  comparison.ratio = std::exp(log_ratio);
  const Welch test = welch(a, b);
  if (test.standard_error <= kRounding) {
    const bool equal = std::fabs(log_ratio) <= kRounding;
    if (equal) comparison.ratio_interval = Interval{1, 1, 1 - options.alpha};
    if (equal) comparison.ratio = 1;
    const auto total = static_cast<unsigned>(before.size() + after.size());
    comparison.p =
        equal ? 1 : 2 / boost::math::binomial_coefficient<double>(total, static_cast<unsigned>(before.size()));
  } else {
    comparison.p = 2 * t_tail(std::fabs(log_ratio) / test.standard_error, test.degrees);
    const double half_width = test.standard_error * t_quantile_of_tail(options.alpha / 2, test.degrees);
    comparison.ratio_interval =
        Interval{std::exp(log_ratio - half_width), std::exp(log_ratio + half_width), 1 - options.alpha};
  }
  decide(comparison, *comparison.p, options.alpha);
  return comparison;
}

Holm holm(std::span<const double> p, double alpha) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  Holm result{std::vector<double>(p.size()), std::vector<bool>(p.size())};
  double floor = 0;  // an adjusted p value is never below that of a smaller p
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    floor = std::max(floor, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    result.adjusted[order[rank]] = floor;
    result.rejected[order[rank]] = floor <= alpha;
  }
  return result;
}

void decide_together(std::span<Comparison> comparisons, double alpha) {
  std::vector<Comparison*> decidable;
  std::vector<double> p;
  for (auto& comparison : comparisons) {
    if (!comparison.p) continue;
    decidable.push_back(&comparison);
    p.push_back(*comparison.p);
  }
  const Holm corrected = holm(p, alpha);
  for (std::size_t i = 0; i < decidable.size(); ++i) {
    decidable[i]->adjusted_p = corrected.adjusted[i];
    decide(*decidable[i], corrected.adjusted[i], alpha);
  }
}

}  // namespace warpmark::stats
