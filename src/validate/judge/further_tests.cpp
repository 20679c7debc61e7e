#include "validate/judge/further_tests.h"

#include <algorithm>
#include <cmath>

#include "stats/bootstrap.h"
#include "stats/tests/log_ratio.h"
#include "stats/tests/rank_tests.h"
#include "stats/tests/t_tests.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {
namespace {

// All differences of two variants of this size are 4 million: 32 MB and half a second.
constexpr std::size_t kMostForShift = 2000;
constexpr std::int64_t kResamples = 9999;

Interval as_ratio(const Interval& logs) {
  return {stats::ratio_of_log(logs.low), stats::ratio_of_log(logs.high), logs.confidence};
}

}  // namespace

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

}  // namespace warpmark::validate
