#include "analyze/rules/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpmark::analyze {

namespace {

constexpr double kAssumedClockLoss = 0.1;
constexpr double kLeastShare = 0.01;

bool has_bits(double value, std::uint64_t bits) {
  return !std::isnan(value) && value >= 0 && value <= 1e15 && (static_cast<std::uint64_t>(value) & bits) != 0;
}

}  // namespace

std::vector<const CounterSeries*> series_of(const Evidence& evidence, std::string_view id) {
  std::vector<const CounterSeries*> found;
  for (const CounterSeries& one : evidence.session->counters) {
    if (one.id == id) found.push_back(&one);
  }
  for (const Timeline& timeline : evidence.session->ranks) {
    for (const CounterSeries& one : timeline.counters) {
      if (one.id == id) found.push_back(&one);
    }
  }
  return found;
}

const CounterSeries* series_of(const Evidence& evidence, std::string_view id, int device) {
  for (const CounterSeries* one : series_of(evidence, id)) {
    if (one->device == device) return one;
  }
  return nullptr;
}

std::optional<double> mean_of(const CounterSeries& series) {
  double sum = 0;
  double count = 0;
  for (const double value : series.values) {
    if (std::isnan(value)) continue;
    sum += value;
    count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> highest_of(const CounterSeries& series) {
  std::optional<double> highest;
  for (const double value : series.values) {
    if (!std::isnan(value)) highest = std::max(highest.value_or(value), value);
  }
  return highest;
}

std::optional<double> share_with_bits(const CounterSeries& series, std::uint64_t bits) {
  double with = 0;
  double count = 0;
  for (const double value : series.values) {
    if (std::isnan(value) || value < 0 || value > 1e15) continue;
    with += has_bits(value, bits) ? 1 : 0;
    count += 1;
  }
  return count > 0 ? std::optional(with / count) : std::nullopt;
}

std::optional<double> mean_with_bits(const CounterSeries& series, const CounterSeries& reasons, std::uint64_t bits) {
  if (series.times != reasons.times) return std::nullopt;
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (std::isnan(series.values[i]) || !has_bits(reasons.values[i], bits)) continue;
    sum += series.values[i];
    count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<Throttle> worst_throttle(const Evidence& evidence, std::uint64_t reasons) {
  std::optional<Throttle> worst;
  for (const CounterSeries* series : series_of(evidence, "throttle_reasons")) {
    const double share = share_with_bits(*series, reasons).value_or(0);
    if (share < kLeastShare) continue;
    Throttle one{series->device, share, kAssumedClockLoss, false};
    const CounterSeries* clock = series_of(evidence, "sm_clock", series->device);
    const CounterSeries* limit = series_of(evidence, "sm_clock_max", series->device);
    if (clock != nullptr) {
      // An idle GPU lowers its clock too: only the samples in question count, where that can be told.
      const auto together = mean_with_bits(*clock, *series, reasons);
      const auto mean = together ? together : mean_of(*clock);
      const auto highest = limit != nullptr ? highest_of(*limit) : highest_of(*clock);
      if (mean && highest && *highest > 0) one.clock_loss = std::max(0.0, 1 - *mean / *highest), one.clock_known = true;
    }
    if (!worst || one.share * one.clock_loss > worst->share * worst->clock_loss) worst = one;
  }
  return worst;
}

Finding throttle_finding(const Rule& rule, const Evidence& evidence, const Throttle& throttle, std::string_view what) {
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  const double lost_share = throttle.share * throttle.clock_loss;
  Finding finding =
      make_finding(rule, step * lost_share, step,
                   fmt::format("GPU {} {} in {:.0f} % of the samples", throttle.device, what, throttle.share * 100));
  if (!evidence.has_timeline()) finding.lost_ns = 0;
  finding.evidence = {
      share_fact("throttled_share", "Samples in which it is slowed down", throttle.share),
      share_fact("clock_loss",
                 throttle.clock_known ? "SM clock below its highest" : "SM clock lost (assumed, as it was not sampled)",
                 throttle.clock_loss),
  };
  finding.gain = shaped(1.0, 1 / (1 - lost_share), "work that scales with the SM clock, all of it at most");
  return finding;
}

}  // namespace warpmark::analyze
