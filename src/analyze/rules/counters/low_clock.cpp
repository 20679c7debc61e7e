// From nvidia-smi alone: the GPU works at a clock far below the one that the driver allows (clocks.max.sm), or loses
// its clock as it heats up, and the file does not say why: a limit of power or heat, or clocks that somebody locked.
// Work that memory sets the pace of loses nothing by a slower clock: half of the loss is counted, unless it is heat.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Sample {
  double heat = 0;   ///< degC
  double clock = 0;  ///< Hz
};

/// Far from the power limit, where clocks fall for another reason; true where the limit was not sampled.
bool has_power_left(const Evidence& evidence, int device) {
  const CounterSeries* power = series_of(evidence, "power", device);
  const auto limit = highest_of(evidence, "power_limit", device);
  const auto used = power == nullptr || !limit ? std::nullopt : in_use(evidence, *power);
  return !used || used->mean < kNearlyAll * *limit;
}

// NVML: nvmlClocksEventReasonGpuIdle, nvmlClocksEventReasonApplicationsClocksSetting.
constexpr std::uint64_t kIdleReason = 0x1, kSetByUser = 0x2;

enum class Reasons { not_sampled, set_by_user, others };

/// Other rules judge the others.
Reasons reasons_of(const Evidence& evidence, int device) {
  constexpr const char* kTimes[] = {"power_violation_time", "thermal_violation_time"};
  const CounterSeries* reasons = series_of(evidence, "throttle_reasons", device);
  if (std::ranges::any_of(kTimes, [&](const char* id) { return series_of(evidence, id, device) != nullptr; }))
    return Reasons::others;
  if (reasons == nullptr) return Reasons::not_sampled;
  std::uint64_t all = 0;
  for (const double value : reasons->values) all |= value > 0 ? static_cast<std::uint64_t>(value) : 0;
  return (all & ~kIdleReason) == kSetByUser ? Reasons::set_by_user : Reasons::others;
}

struct Fall {
  Sample cool, hot;  ///< medians of the coolest and the hottest third of the samples with work
};

/// If every sample of the hottest third has a clock below all of the coolest third, by a tenth.
std::optional<Fall> fall_with_heat(const Evidence& evidence, const CounterSeries& clock) {
  const CounterSeries* heat = series_of(evidence, "temperature", clock.device);
  const CounterSeries* busy = series_of(evidence, "gpu_utilization", clock.device);
  if (heat == nullptr || heat->times != clock.times || !has_power_left(evidence, clock.device)) return std::nullopt;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < clock.values.size(); ++i) {
    const bool works = busy == nullptr || busy->times != clock.times || busy->values[i] >= kEffectiveUse;
    if (works && !std::isnan(clock.values[i] + heat->values[i])) samples.push_back({heat->values[i], clock.values[i]});
  }
  std::ranges::stable_sort(samples, {}, &Sample::heat);
  const std::size_t third = samples.size() / 3;
  if (third < kFewest) return std::nullopt;
  const std::span<const Sample> cool = std::span(samples).first(third), hot = std::span(samples).last(third);
  const double slowest_cool = std::ranges::min(cool, {}, &Sample::clock).clock;
  const double fastest_hot = std::ranges::max(hot, {}, &Sample::clock).clock;
  if (fastest_hot >= kNearlyAll * slowest_cool) return std::nullopt;
  return Fall{cool[third / 2], hot[third / 2]};
}

std::vector<Finding> apply_low_clock(const Evidence& evidence) {
  std::vector<Finding> findings;
  double worst = 1 - kNearlyAll;  // of its clock any GPU loses some under load
  for (const CounterSeries* clock : series_of(evidence, "sm_clock")) {
    const Reasons reasons = reasons_of(evidence, clock->device);
    const auto used =
        reasons == Reasons::others || !is_used(evidence, *clock) ? std::nullopt : in_use(evidence, *clock);
    if (!used) continue;
    const auto fall = reasons == Reasons::not_sampled ? fall_with_heat(evidence, *clock) : std::nullopt;
    const double allowed =
        (fall ? highest_of(*clock) : highest_of(evidence, "sm_clock_max", clock->device)).value_or(0);
    const bool works = fall || used->busy.value_or(0) >= kEffectiveUse;
    if (allowed <= 0 || !works || 1 - used->mean / allowed <= worst) continue;
    worst = 1 - used->mean / allowed;
    const auto mhz = [](double hz) { return fmt::format("{:.0f}", hz * 1e-6); };
    Finding finding = counter_finding(
        kLowClockRule, evidence, fall ? worst : worst / 2,
        fall ? fmt::format("GPU {} loses its clock as it heats up: {} MHz at {:.0f} °C, {} MHz at {:.0f} °C",
                           clock->device, mhz(fall->cool.clock), fall->cool.heat, mhz(fall->hot.clock), fall->hot.heat)
             : fmt::format("GPU {} works at {} of {} MHz, {}", clock->device, mhz(used->mean), mhz(allowed),
                           reasons == Reasons::set_by_user ? "as its application clocks are set"
                                                           : "for a reason that was not sampled"));
    const bool usual = !fall && worst < 0.5;  // few GPUs reach that clock with all of their units
    if (usual) finding.severity = std::min(finding.severity, kMostOfANote);
    finding.evidence = {share_fact(
        "clock_loss",
        fall ? "SM clock below the highest of these samples, mean" : "SM clock below the highest that is allowed",
        worst)};
    if (used->busy)
      finding.evidence.push_back(share_fact("gpu_utilization", "Time with a kernel on the GPU meanwhile", *used->busy));
    finding.recommendations = {{AdviceKind::command,
                                "See what holds the clock down: limits of power and heat, or locked clocks (nvidia-smi "
                                "-rgc and -rac release them).",
                                "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE"}};
    finding.gain = fall ? at_most(1 / (1 - worst), "work that scales with the SM clock, all of it at most")
                        : Gain{.method = "which clock this work allows was not recorded", .unknown = true};
    findings = {std::move(finding)};
  }
  return findings;
}

}  // namespace

constinit const Rule kLowClockRule = {"low_clock", "environment", "Does the GPU reach its clock under load?",
                                      Need::counters, apply_low_clock};

}  // namespace warpmark::analyze
