#include "profile/module/schedule.h"

#include <algorithm>
#include <limits>

namespace warpmark::profile::module {
namespace {

constexpr std::int64_t kFewestLaunches = 20;  // of a window whose rate means something

}  // namespace

double Schedule::length_of(Phase phase) const {
  switch (phase) {
    case Phase::waiting: return options_.delay_s;
    case Phase::recording:
      return options_.duration_s > 0 ? options_.duration_s : std::numeric_limits<double>::infinity();
    case Phase::before:
    case Phase::after: return options_.duration_s > 0 ? std::clamp(options_.duration_s / 2, 0.25, 1.0) : 0;
    case Phase::done: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

Phase Schedule::advance(double elapsed_s, std::int64_t launches) {
  Window& window = windows_[static_cast<int>(phase_)];
  window.end_s = elapsed_s;
  window.end_launches = launches;
  if (phase_ == Phase::done || elapsed_s - window.begin_s < length_of(phase_)) return phase_;
  phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
  Window& next = windows_[static_cast<int>(phase_)];
  next = {elapsed_s, elapsed_s, launches, launches};
  if (length_of(phase_) == 0) return advance(elapsed_s, launches);
  return phase_;
}

double Schedule::rate(Phase phase) const {
  const Window& window = windows_[static_cast<int>(phase)];
  const std::int64_t launches = window.end_launches - window.begin_launches;
  if (launches < kFewestLaunches || window.end_s <= window.begin_s) return 0;
  return static_cast<double>(launches) / (window.end_s - window.begin_s);
}

double Schedule::inflation() const {
  const double before = rate(Phase::before), recorded = rate(Phase::recording), after = rate(Phase::after);
  if (before <= 0 || recorded <= 0 || after <= 0) return -1;
  return std::max(0.0, (before + after) / 2 / recorded - 1);
}

}  // namespace warpmark::profile::module
