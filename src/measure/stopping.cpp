#include "measure/stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "stats/summary.h"

namespace warpmark::measure {

StoppingRule::StoppingRule(const StoppingOptions& options) : options_(options) {
  options_.min_samples = std::max(options_.min_samples, kFewestSamples);
  options_.max_samples = std::max(options_.max_samples, options_.min_samples);
  next_look_ = options_.min_samples;
  constexpr std::int64_t kMostAtOnce = 1 << 16;  // there may be no limit
  samples_.reserve(static_cast<std::size_t>(std::min(options_.max_samples, kMostAtOnce)));
}

void StoppingRule::add(double sample, double elapsed_s) {
  samples_.push_back(sample);
  const auto n = static_cast<std::int64_t>(samples_.size());
  if (n >= next_look_) {
    next_look_ = n + std::max<std::int64_t>(1, n / 10);
    if (const double width = half_width(); width <= options_.half_width) {
      return stop(true, fmt::format("interval of the median within ±{:.2g} %", options_.half_width * 100));
    }
  }
  if (n >= options_.max_samples) {
    return stop(false, fmt::format("maximum of {} samples; interval of the median is ±{:.2g} %, target ±{:.2g} %", n,
                                   half_width() * 100, options_.half_width * 100));
  }
  if (elapsed_s >= options_.budget_s && n >= kFewestSamples) {
    return stop(false, fmt::format("time budget of {:.3g} s; interval of the median is ±{:.2g} %, target ±{:.2g} %",
                                   options_.budget_s, half_width() * 100, options_.half_width * 100));
  }
}

void StoppingRule::stop(bool converged, std::string reason) {
  done_ = true;
  converged_ = converged;
  reason_ = std::move(reason);
}

double StoppingRule::half_width() const { return relative_half_width(samples_, options_.confidence); }

double relative_half_width(const std::vector<double>& samples, double confidence) {
  const auto interval = stats::median_interval(samples, confidence);
  if (!interval) return std::numeric_limits<double>::infinity();
  const double center = (interval->low + interval->high) / 2;
  return center > 0 ? (interval->high - interval->low) / 2 / center : std::numeric_limits<double>::infinity();
}

}  // namespace warpmark::measure
