#include "measure/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "stats/summary.h"

namespace warpmark::measure {
namespace {

/// Long launches settle in fewer samples and cannot afford many.
std::size_t window_for(double seconds_per_launch) {
  if (seconds_per_launch < 1e-3) return 16;
  if (seconds_per_launch < 20e-3) return 5;
  return 2;
}

/// The clock that decides the speed of a device, where it can be read. A GPU idles at a low clock and needs load to
/// rise.
std::optional<double> rising_clock(device::Device& device) {
  if (device.info().backend == "cpu") return std::nullopt;
  const auto conditions = device.conditions();
  if (!conditions.ok()) return std::nullopt;
  for (const auto& sensor : conditions->sensors) {
    if (sensor.id == "sm_clock") return sensor.value;
  }
  return std::nullopt;
}

}  // namespace

Settling settling(const std::vector<double>& samples, std::size_t window, double tolerance) {
  if (samples.size() < 2 * window) return {};
  const std::span all(samples);
  const double last = stats::median(all.last(window));
  const double before = stats::median(all.subspan(all.size() - 2 * window, window));
  if (before <= 0) return {true, 0};
  const double moved = std::fabs(last / before - 1);
  return {moved <= tolerance, moved};
}

Result<WarmupResult> warm_up(device::Device& device, device::TimedSequence& sequence, std::size_t sets,
                             const WarmupOptions& options) {
  WarmupResult result;
  std::vector<double> samples;
  std::optional<double> clock_before = rising_clock(device);
  const std::int64_t begin = monotonic_ns();
  const auto elapsed_s = [&] { return static_cast<double>(monotonic_ns() - begin) * 1e-9; };
  std::size_t window = 2;
  double first_s = 0;
  for (;;) {
    WM_ASSIGN(const double sample, sequence.time(result.next_set));
    if (samples.empty()) first_s = elapsed_s();
    result.next_set = (result.next_set + 1) % sets;
    samples.push_back(sample);
    window = window_for(sample);
    const auto count = static_cast<std::int64_t>(samples.size());
    const bool capped = elapsed_s() >= options.cap_s || count >= options.most_launches;
    if (!capped && (samples.size() < 2 * window || samples.size() % window != 0)) continue;

    const Settling now =
        settling(samples, std::min(window, std::max<std::size_t>(1, samples.size() / 2)), options.tolerance);
    bool clock_steady = true;
    if (now.settled && !capped && clock_before) {
      const auto clock_now = rising_clock(device);
      clock_steady = !clock_now || *clock_now <= *clock_before * 1.02;
      clock_before = clock_now;
    }
    if ((now.settled && clock_steady) || capped) {
      result.warmup = {
          .launches = count,
          .seconds = elapsed_s(),
          .settled = now.settled && clock_steady,
          .reason = now.settled
                        ? fmt::format("median moved by {:.2g} % between windows of {} samples", now.moved * 100, window)
                    : samples.size() < 2 * window
                        ? fmt::format("stopped at the cap of {:.2g} s after {} launches", options.cap_s, count)
                        : fmt::format("stopped at the cap of {:.2g} s; the median still moved by {:.2g} %",
                                      options.cap_s, now.moved * 100),
          .first_s = first_s};
      result.seconds_per_launch = stats::median(std::span(samples).last(std::min(window, samples.size())));
      return result;
    }
  }
}

StoppingRule::StoppingRule(const StoppingOptions& options) : options_(options) {
  options_.min_samples = std::max(options_.min_samples, kFewestSamples);
  options_.max_samples = std::max(options_.max_samples, options_.min_samples);
  next_poll_ = options_.min_samples;
  constexpr std::int64_t kMostAtOnce = 1 << 16;  // there may be no limit
  samples_.reserve(static_cast<std::size_t>(std::min(options_.max_samples, kMostAtOnce)));
}

void StoppingRule::add(double sample, double elapsed_s) {
  samples_.push_back(sample);
  const auto n = static_cast<std::int64_t>(samples_.size());
  if (n >= next_poll_) {
    next_poll_ = n + std::max<std::int64_t>(1, n / 10);
    if (const double width = half_width(); width <= options_.half_width) {
      return stop(true, fmt::format("interval of the median within ±{:.2g} %", options_.half_width * 100));
    }
  }
  if (n >= options_.max_samples) return stop(false, fmt::format("maximum of {} samples", n));
  if (elapsed_s >= options_.budget_s && n >= kFewestSamples) {
    return stop(false, fmt::format("time budget of {:.3g} s", options_.budget_s));
  }
}

void StoppingRule::stop(bool converged, std::string cause) {
  done_ = true;
  converged_ = converged;
  cause_ = reason_ = std::move(cause);
  if (converged) return;
  reason_ += fmt::format("; interval of the median is ±{:.2g} %, target ±{:.2g} %", half_width() * 100,
                         options_.half_width * 100);
}

double StoppingRule::half_width() const { return relative_half_width(samples_, options_.confidence); }

double relative_half_width(const std::vector<double>& samples, double confidence) {
  const auto interval = stats::median_interval(samples, confidence);
  if (!interval) return std::numeric_limits<double>::infinity();
  const double center = (interval->low + interval->high) / 2;
  return center > 0 ? (interval->high - interval->low) / 2 / center : std::numeric_limits<double>::infinity();
}

}  // namespace warpmark::measure
