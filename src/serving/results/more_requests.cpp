#include "serving/results/more_requests.h"

#include <fmt/format.h>

#include <cmath>

namespace warpmark::serving {
namespace {

/// Rounded up to what a person would write.
std::string round_time(double seconds) {
  if (seconds <= 60) return fmt::format("{:g}s", std::ceil(seconds / 5) * 5);
  const double minutes = seconds / 60;
  return fmt::format("{:g}m", minutes <= 10 ? std::ceil(minutes) : std::ceil(minutes / 5) * 5);
}

}  // namespace

std::string option_for_more(const LoadLimits& limits, double times) {
  if (limits.most_requests > 0 && (limits.everything_sent || limits.duration_s <= 0)) {
    return fmt::format("--max-requests-per-run {:g}", std::ceil(times * static_cast<double>(limits.most_requests)));
  }
  const double seconds = limits.duration_s > 0 ? limits.duration_s : limits.wall_s;
  return seconds > 0 ? "--max-time-per-run " + round_time(times * seconds) : "";
}

std::string needs_more(const LoadLimits& limits, std::int64_t needed, std::int64_t have) {
  std::string text = fmt::format("needs {} requests, have {}", needed, have);
  if (have == 0) return text;
  const std::string option = option_for_more(limits, static_cast<double>(needed) / static_cast<double>(have));
  return option.empty() ? text : text + ": " + option;
}

}  // namespace warpmark::serving
