#include "validate/judge/verdict.h"

#include <fmt/format.h>
#include <boost/math/special_functions/binomial.hpp>

#include <algorithm>
#include <cmath>

#include "base/result.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"
#include "stats/tests/rank_and_t_tests.h"
#include "stats/tests/sequential.h"
#include "validate/judge/planning.h"

namespace warpmark::validate {
namespace {

// All differences of two variants of this size are 4 million: 32 MB and half a second.
constexpr std::size_t kMostForShift = 2000;

constexpr std::int64_t kResamples = 9999;

Interval as_ratio(const Interval& logs) {
  return {stats::ratio_of_log(logs.low), stats::ratio_of_log(logs.high), logs.confidence};
}

/// median_ratio (BCa bootstrap), mann_whitney, hodges_lehmann (of logs), welch_t (of logs), and of paired variants
/// paired_t, wilcoxon_signed_rank, pseudo_median (of log ratios), equivalence (TOST). Empty below 3 values a side or
/// where a value is not above 0.
std::vector<TestResult> further_tests(std::span<const double> a, std::span<const double> b,
                                      const VerdictOptions& options) {
  const auto usable = [](std::span<const double> values) {
    return values.size() >= 3 && values.size() <= kMostForShift &&
           std::all_of(values.begin(), values.end(), [](double value) { return value > 0 && std::isfinite(value); });
  };
  if (!usable(a) || !usable(b)) return {};
  const double confidence = 1 - options.alpha;
  std::vector<double> log_a, log_b, differences;
  for (const double value : a) log_a.push_back(std::log(value));
  for (const double value : b) log_b.push_back(std::log(value));

  std::vector<TestResult> tests;
  const auto ranks = stats::mann_whitney(a, b);
  const auto median =
      stats::bca_median_ratio(a, b, {.resamples = kResamples, .confidence = confidence, .seed = options.seed});
  const auto shift = stats::hodges_lehmann(log_a, log_b, confidence);
  const auto welch = stats::welch_t(log_a, log_b, confidence);
  tests.push_back({"mann_whitney", ranks.p, stats::ratio_of_log(shift.estimate), as_ratio(shift.interval)});
  tests.push_back({"median_ratio_bca", ranks.p, median.value, median.interval});
  tests.push_back({"welch_t_log", welch.p, stats::ratio_of_log(welch.estimate), as_ratio(welch.interval)});
  const double limit = std::log1p(options.effect);
  if (!options.paired || a.size() != b.size()) {
    tests.push_back({"equivalence_tost", stats::equivalence_p(welch, -limit, limit), std::nullopt, std::nullopt});
    return tests;
  }
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(log_b[i] - log_a[i]);
  const auto paired = stats::one_sample_t(differences, confidence);
  const auto centre = stats::pseudo_median(differences, confidence);
  tests.push_back({"paired_t_log", paired.p, stats::ratio_of_log(paired.estimate), as_ratio(paired.interval)});
  tests.push_back({"wilcoxon_signed_rank", stats::wilcoxon_signed_rank(differences).p,
                   stats::ratio_of_log(centre.estimate), as_ratio(centre.interval)});
  tests.push_back({"equivalence_tost", stats::equivalence_p(paired, -limit, limit), std::nullopt, std::nullopt});
  return tests;
}

constexpr std::int64_t kFewestUnpaired = 3;
constexpr double kErrorRounding = 1e-13;
// So few rounds nobody minds, however few there were before.
constexpr std::int64_t kRoundsWithinReach = 60;

std::string why_no_ratio(std::span<const double> values, const char* variant) {
  if (values.empty()) return fmt::format("{} has no values", variant);
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value))
      return fmt::format("{} has the value {:g}; a ratio needs values above 0", variant, value);
  }
  return {};
}

std::vector<double> logs(std::span<const double> values) {
  std::vector<double> result;
  for (const double value : values) result.push_back(std::log(value));
  return result;
}

Effect paired_effect(std::span<const double> a, std::span<const double> b, const VerdictOptions& options) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    // log(b / a) is not exactly -log(a / b): ranks of equal sizes would go by their signs.
    differences.push_back(b[i] >= a[i] ? std::log(b[i] / a[i]) : -std::log(a[i] / b[i]));
  }
  Effect effect;
  // The sequential t test also knows what to do where all differences are equal.
  const auto plain = stats::sequential_t(differences, {.alpha = options.alpha});
  effect.n = plain.n;
  effect.log_ratio = effect.mean = plain.mean;
  effect.stdev = effect.worth_stdev = plain.stdev;
  if (plain.stdev == 0) {
    effect.interval = plain.interval;
    effect.p = plain.p;
  } else if (options.sequential) {
    const bool known = options.disturbances.size() >= differences.size();
    const auto test = stats::sequential_paired(
        differences, known ? options.disturbances.first(differences.size()) : std::span<const double>(),
        {.alpha = options.alpha});
    effect.log_ratio = test.centre;
    effect.worth_stdev = test.worth_stdev;
    effect.interval = test.interval;
    effect.p = test.p;
  } else if (plain.n >= 3) {
    const auto test = stats::one_sample_t(differences, 1 - options.alpha);
    effect.interval = test.interval;
    effect.p = test.p;
  }
  return effect;
}

Effect unpaired_effect(std::span<const double> a, std::span<const double> b, const VerdictOptions& options) {
  Effect effect;
  effect.n = static_cast<std::int64_t>(std::min(a.size(), b.size()));
  const auto before = logs(a), after = logs(b);
  if (effect.n < 2) {
    effect.log_ratio = stats::median(after) - stats::median(before);
    return effect;
  }
  const auto test = stats::welch_t(before, after, 1 - options.alpha);
  effect.log_ratio = effect.mean = test.estimate;
  effect.stdev = effect.worth_stdev = test.standard_error * std::sqrt(static_cast<double>(effect.n));
  if (effect.n < kFewestUnpaired) return effect;
  if (test.standard_error > kErrorRounding) {
    effect.interval = test.interval;
    effect.p = test.p;
    return effect;
  }
  // No noise to test against: only the order is known, as in an exact permutation test.
  effect.stdev = effect.worth_stdev = 0;
  const bool equal = std::fabs(test.estimate) <= kErrorRounding;
  const double p = 2 / boost::math::binomial_coefficient<double>(static_cast<unsigned>(a.size() + b.size()),
                                                                 static_cast<unsigned>(a.size()));
  effect.p = equal ? 1 : p;
  if (p <= options.alpha) effect.interval = Interval{test.estimate, test.estimate, 1 - options.alpha};
  return effect;
}

std::string change_percent(double log_ratio) { return fmt::format("{:+.2f} %", std::expm1(log_ratio) * 100); }

std::string count_of_rounds(std::int64_t n) { return fmt::format("{} round{}", n, n == 1 ? "" : "s"); }

/// Above 99 % without an exponent.
std::string percent_text(double ratio) {
  return ratio < 0.995 ? fmt::format("{:.2g} %", ratio * 100) : fmt::format("{:.0f} %", ratio * 100);
}

/// Rounds that a person may add, or, where they are beyond reach, the effect that is within it.
std::string what_would_decide(const Effect& effect, const RoundsToDecide& rounds, const VerdictOptions& options,
                              std::optional<double>& decidable) {
  const std::int64_t reach = std::max(options.affordable_rounds, effect.n);
  const std::int64_t near = std::max({2 * reach, 3 * effect.n, kRoundsWithinReach});
  const bool soon_as_measured = rounds.either_way > 2 * rounds.as_measured && rounds.as_measured <= near;
  const std::int64_t as_measured = rounds.as_measured - effect.n;
  if (rounds.either_way <= near) {
    const std::int64_t more = rounds.either_way - effect.n;
    std::string text = fmt::format("about {} more round{} would decide", more, more == 1 ? "" : "s");
    if (soon_as_measured) text += fmt::format(", about {} if the difference is as large as it seems", as_measured);
    return text;
  }
  decidable = detectable_effect(effect.worth_stdev, std::max(reach, fewest_rounds(options)), options);
  const double later = detectable_effect(effect.worth_stdev, 4 * reach, options);
  std::string text = fmt::format("{} can detect {} or more, {} rounds {}: ", count_of_rounds(reach),
                                 percent_text(*decidable), 4 * reach, percent_text(later));
  // Nobody wants to know only of differences as large as that.
  constexpr double kLargestToAskFor = 0.5;
  const bool sensible = *decidable <= kLargestToAskFor;
  text += sensible ? fmt::format("use --effect {:.2g}%, more rounds, or longer runs", *decidable * 100)
                   : "use longer runs or a quieter machine";
  if (soon_as_measured)
    text += fmt::format("; about {} more rounds if the difference is as large as it seems", as_measured);
  return text;
}

/// That most rounds are alike says nothing of a few that are far slower: for "same" the mean has to agree.
bool most_rounds_are_same(const Effect& effect, double limit) {
  return effect.interval && -limit < effect.interval->low && effect.interval->high < limit;
}

/// `metrics` is over how many p is adjusted.
void explain(MetricVerdict& metric, const Effect& effect, double p, std::int64_t metrics,
             const VerdictOptions& options) {
  const std::int64_t fewest = fewest_rounds(options);
  RoundsToDecide rounds{.as_measured = std::max(effect.n + 1, fewest), .either_way = std::max(effect.n + 1, fewest)};
  if (effect.stdev > 0) rounds = rounds_to_decide(effect, metrics, options);
  metric.more_rounds = rounds.either_way - effect.n;
  if (!effect.interval && effect.n >= fewest) {
    metric.reason = fmt::format("the {} rounds do not vary at all, so that no interval can be computed", effect.n);
  } else if (!effect.interval) {
    metric.reason = fmt::format("{} too few, at least {} are needed",
                                effect.n == 1 ? "1 round is" : fmt::format("{} rounds are", effect.n), fewest);
  } else if (most_rounds_are_same(effect, std::log1p(options.effect))) {
    metric.reason = fmt::format("most rounds are the same ({} to {}), but a few outliers move the mean by {}",
                                change_percent(effect.interval->low), change_percent(effect.interval->high),
                                change_percent(effect.mean));
  } else if (p <= options.alpha) {
    metric.reason =
        fmt::format("significant ({} to {}), but it may be below {:.3g} %", change_percent(effect.interval->low),
                    change_percent(effect.interval->high), options.effect * 100);
  } else {
    metric.reason = fmt::format("the difference is between {} and {}", change_percent(effect.interval->low),
                                change_percent(effect.interval->high));
  }
  const auto next = what_would_decide(effect, rounds, options, metric.decidable_effect);
  if (effect.n >= fewest) metric.reason += "; " + next;  // fewer rounds know too little of their noise
}

}  // namespace

Effect effect_of(std::span<const double> a, std::span<const double> b, const VerdictOptions& options) {
  WM_CHECK(options.effect > 0 && options.alpha > 0 && options.alpha < 1);
  Effect effect;
  effect.undefined = why_no_ratio(a, "A");
  if (effect.undefined.empty()) effect.undefined = why_no_ratio(b, "B");
  if (!effect.undefined.empty()) return effect;
  return options.paired ? paired_effect(a, b, options) : unpaired_effect(a, b, options);
}

Verdict verdict_of(const Effect& effect, double p, Better better, const VerdictOptions& options) {
  if (!effect.undefined.empty() || !effect.interval) return Verdict::inconclusive;
  const double limit = std::log1p(options.effect);
  if (most_rounds_are_same(effect, limit)) {
    return std::fabs(effect.mean) < limit ? Verdict::same : Verdict::inconclusive;
  }
  if (effect.log_ratio < effect.interval->low || effect.log_ratio > effect.interval->high) return Verdict::inconclusive;
  if (p > options.alpha || std::fabs(effect.log_ratio) < limit / 2) return Verdict::inconclusive;
  if (better == Better::neither) return Verdict::different;
  return (effect.log_ratio < 0) == (better == Better::lower) ? Verdict::better : Verdict::worse;
}

void judge(std::span<MetricVerdict> metrics, const VerdictOptions& options, bool with_tests) {
  std::vector<Effect> effects;
  std::vector<double> p;
  for (auto& metric : metrics) {
    effects.push_back(effect_of(metric.a, metric.b, options));
    if (effects.back().p && !metric.auxiliary) p.push_back(*effects.back().p);
  }
  const auto holm = stats::holm(p, options.alpha);
  std::size_t next = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    auto& metric = metrics[i];
    const auto& effect = effects[i];
    metric.median_a = stats::median(metric.a);
    metric.median_b = stats::median(metric.b);
    metric.p = effect.p;
    metric.adjusted_p = effect.p;
    if (effect.p && !metric.auxiliary) metric.adjusted_p = holm.adjusted[next++];
    metric.ratio = effect.undefined.empty() ? std::optional(stats::ratio_of_log(effect.log_ratio)) : std::nullopt;
    metric.interval.reset();
    if (effect.interval) {
      metric.interval = Interval{stats::ratio_of_log(effect.interval->low), stats::ratio_of_log(effect.interval->high),
                                 1 - options.alpha};
    }
    metric.verdict = verdict_of(effect, metric.adjusted_p.value_or(1), metric.better, options);
    metric.reason.clear();
    metric.more_rounds.reset();
    metric.decidable_effect.reset();
    if (metric.verdict == Verdict::inconclusive && options.explain) {
      if (effect.undefined.empty()) {
        explain(metric, effect, metric.adjusted_p.value_or(1),
                metric.auxiliary ? 1 : static_cast<std::int64_t>(std::max<std::size_t>(1, p.size())), options);
      } else {
        metric.reason = effect.undefined;
      }
    }
    if (with_tests) metric.tests = further_tests(metric.a, metric.b, options);
  }
}

}  // namespace warpmark::validate
