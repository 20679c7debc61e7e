#include "validate/compare/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/random.h"
#include "stats/summary.h"
#include "validate/judge/planning.h"

namespace warpmark::validate {
namespace {

constexpr int kRelabelings = 2000;
constexpr std::int64_t kFewestRounds = 7;

/// Whether equal variants would have been called different at any look.
bool false_alarm(const std::vector<double>& a, const std::vector<double>& b, Better better,
                 const VerdictOptions& options) {
  const auto first = options.sequential ? static_cast<std::size_t>(kFewestRounds) : a.size();
  for (std::size_t n = first; n <= a.size(); ++n) {
    const auto effect = effect_of(std::span(a).first(n), std::span(b).first(n), options);
    const Verdict verdict = verdict_of(effect, effect.p.value_or(1), better, options);
    if (verdict == Verdict::same) return false;  // it would have stopped here
    if (verdict != Verdict::inconclusive) return true;
  }
  return false;
}

double false_positive_rate(const MetricVerdict& metric, const VerdictOptions& options) {
  int alarms = 0;
  for (int i = 0; i < kRelabelings; ++i) {
    auto a = metric.a, b = metric.b;
    const auto seed = stats::derive_seed(options.seed, static_cast<std::uint64_t>(i));
    for (std::size_t round = 0; round < a.size(); ++round) {
      if (stats::random_bits(seed, round) % 2 == 1) std::swap(a[round], b[round]);
    }
    alarms += false_alarm(a, b, metric.better, options) ? 1 : 0;
  }
  return static_cast<double>(alarms) / kRelabelings;
}

/// Lag 1 of the runs in the order taken.
std::optional<double> autocorrelation(const Comparison& comparison, std::size_t metric) {
  std::vector<double> values;
  for (const auto& sample : comparison.samples) values.push_back(sample.values[metric]);
  return values.empty() ? std::nullopt : stats::summarize(values).autocorrelation;
}

}  // namespace

std::vector<MetricCalibration> calibrate(const Comparison& comparison, const VerdictOptions& options) {
  std::vector<MetricCalibration> result;
  for (std::size_t i = 0; i < comparison.metrics.size(); ++i) {
    const auto& metric = comparison.metrics[i];
    if (metric.beside) continue;  // no part of any decision
    const Effect effect = effect_of(metric.a, metric.b, options);
    if (!effect.undefined.empty() || effect.n < kFewestRounds || metric.a.size() != metric.b.size()) continue;
    MetricCalibration calibration{.id = metric.id, .spread = effect.stdev};
    calibration.false_positive_rate = false_positive_rate(metric, options);
    calibration.detectable = effect.stdev > 0 ? detectable_effect(effect.worth_stdev, effect.n, options) : 0;
    calibration.rounds_for_effect =
        rounds_needed(effect.worth_stdev, std::log1p(options.effect), options, static_cast<double>(effect.n - 1));
    calibration.autocorrelation = autocorrelation(comparison, i);
    result.push_back(std::move(calibration));
  }
  return result;
}

}  // namespace warpmark::validate
