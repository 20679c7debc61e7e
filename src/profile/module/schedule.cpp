#include "profile/module/schedule.h"

#include <algorithm>
#include <limits>

namespace warpmark::profile::module {
namespace {

constexpr std::int64_t kFewestLaunches = 20;  // of a window whose rate means something
constexpr std::int64_t kFewestSteps = 3;      // of a window, where steps are known ...
constexpr double kLongestWindow_s = 20;       // ... if they are that short
constexpr double kStepSearch_s = 60;          // a program whose steps are not found by then has none that repeat
constexpr double kForever_s = std::numeric_limits<double>::infinity();

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  using enum Phase;
  std::vector<Phase> phases{waiting, plain, recording, plain};
  for (int i = 0; i < options.probes; ++i) phases.insert(phases.end(), {probing, plain});
  if (options.duration_s <= 0 && options.recorded_steps <= 0) phases = {waiting, recording};
  phases.push_back(done);
  for (const Phase phase : phases) windows_.push_back({phase, {}, {}});
}

bool Schedule::advance(const Progress& now) {
  windows_[at_].end = now;
  if (phase() == Phase::done || !is_over(windows_[at_])) return false;
  const bool counted = phase() == Phase::waiting ? options_.warmup_steps > 0
                                                 : phase() == Phase::recording && options_.recorded_steps > 0;
  steps_missed_ = steps_missed_ || (counted && now.step_launches == 0);
  ++at_;
  restart_window(now);
  return true;
}

void Schedule::restart_window(const Progress& now) { windows_[at_].begin = windows_[at_].end = now; }

bool Schedule::is_over(const Window& window) const {
  const double elapsed_s = window.end.elapsed_s - window.begin.elapsed_s;
  const std::int64_t step_launches = window.end.step_launches;
  const std::int64_t launches = window.end.launches - window.begin.launches;
  if (window.phase == Phase::waiting && options_.warmup_steps > 0) {
    return step_launches > 0 ? window.end.steps >= options_.warmup_steps : elapsed_s >= kStepSearch_s;
  }
  if (window.phase == Phase::recording && options_.recorded_steps > 0 && step_launches > 0) {
    return launches >= (options_.recorded_steps + 1) * step_launches;  // the first and the last one are cut
  }
  const bool first = window.phase == Phase::plain && &window == &windows_[1];  // it is compared with all others
  if (elapsed_s < length_of(window.phase) * (first ? 2 : 1)) return false;
  const bool measures = window.phase == Phase::plain || window.phase == Phase::probing;
  const bool too_few = step_launches > 0 && launches < kFewestSteps * step_launches;
  return !(measures && too_few && elapsed_s < kLongestWindow_s);
}

double Schedule::length_of(Phase phase) const {
  const double duration_s = options_.duration_s > 0 ? options_.duration_s : 2;
  switch (phase) {
    case Phase::waiting: return options_.delay_s;
    case Phase::recording: return options_.duration_s > 0 || options_.recorded_steps > 0 ? duration_s : kForever_s;
    case Phase::plain:
    case Phase::probing: return std::clamp(duration_s / 2, 0.25, 1.0);
    case Phase::done: return kForever_s;
  }
  return 0;
}

double Schedule::rate(const Window& window) {
  const std::int64_t launches = window.end.launches - window.begin.launches;
  if (launches < kFewestLaunches || window.end.elapsed_s <= window.begin.elapsed_s) return 0;
  return static_cast<double>(launches) / (window.end.elapsed_s - window.begin.elapsed_s);
}

double Schedule::rate(Phase phase) const {
  for (const auto& window : windows_) {
    if (window.phase == phase) return rate(window);
  }
  return 0;
}

Inflation Schedule::inflation() const {
  std::vector<double> found;
  double residual = 0;
  for (std::size_t i = 1; i + 1 < windows_.size(); ++i) {
    if (windows_[i].phase != Phase::recording && windows_[i].phase != Phase::probing) continue;
    const double before = rate(windows_[i - 1]), recorded = rate(windows_[i]), after = rate(windows_[i + 1]);
    if (windows_[i - 1].phase != Phase::plain || windows_[i + 1].phase != Phase::plain) continue;
    if (before <= 0 || recorded <= 0 || after <= 0) continue;
    const bool first = windows_[i].phase == Phase::recording;
    if (first) residual = std::max(0.0, before / after - 1);
    found.push_back((first ? after : (before + after) / 2) / recorded - 1);
  }
  if (found.empty()) return {};
  std::sort(found.begin(), found.end());
  const auto in_all = [&](double value) { return std::max(0.0, (1 + value) * (1 + residual) - 1); };
  return {.typical = in_all(found[(found.size() - 1) / 2]),
          .low = std::max(0.0, found.front()),
          .high = in_all(found.back()),
          .residual = residual,
          .windows = static_cast<int>(found.size())};
}

}  // namespace warpmark::profile::module
