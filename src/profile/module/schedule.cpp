#include "profile/module/schedule.h"

#include <algorithm>
#include <limits>

namespace warpmark::profile::module {
namespace {

constexpr std::int64_t kFewestLaunches = 20;  // of a window whose rate means something
constexpr std::int64_t kFewestSteps = 3;      // of a window, where steps are known ...
constexpr double kLongestWindow_s = 20;       // ... if they are that short
constexpr double kStepSearch_s = 60;          // of launching: whose steps are not found by then has none that repeat
constexpr double kSilence_s = 1;              // of no launches: longer is a program that compiles or loads
constexpr double kForever_s = std::numeric_limits<double>::infinity();
constexpr double kPatience_s = 2;        // of launching, for steps that repeat; then something is recorded
constexpr double kLongestStartUp_s = 5;  // what repeats that long is no start-up, whatever comes after it
constexpr double kForwardAndMore = 2;     // launches of a training's step: a forward, a backward and an update
constexpr int kMostRepeated = 3;
// A program whose steps are not found is recorded anew when it has launched this many times as long: the later, the
// less of it is start-up.
constexpr double kMuchLater = 4;
// What stayed of CUPTI in steps of 15 and 0.4 ms (docs/results/recording.md), where it cannot be
// told: 3.0 to 4.8 %.
constexpr double kUsualResidual = 0.04;
constexpr double kMostResidual = 0.06;
// The first plain window, by the time that the program has run: nobody knows how long it will.
constexpr double kFirstPlainShare = 0.5;
constexpr double kShortestFirstPlain_s = 0.25;
constexpr double kLongestFirstPlain_s = 2;

/// Of two lengths of steps: the same but for a kernel now and then, or two steps taken for one.
bool are_alike(std::int64_t a, std::int64_t b) {
  const double ratio = static_cast<double>(std::max(a, b)) / static_cast<double>(std::min(a, b));
  return ratio < 1.05 || (std::min(a, b) > 8 && ratio > 1.95 && ratio < 2.05);
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) { lay_out_windows(); }

void Schedule::lay_out_windows() {
  using enum Phase;
  std::vector<Phase> phases{waiting, plain, recording, plain};
  for (int i = 0; i < options_.probes; ++i) phases.insert(phases.end(), {probing, plain});
  if (options_.captures || (options_.duration_s <= 0 && options_.recorded_steps <= 0)) phases = {waiting, recording};
  phases.push_back(done);
  windows_.clear();
  for (const Phase phase : phases) windows_.push_back({phase, {}, {}});
}

bool Schedule::advance(const Progress& now) {
  windows_[at_].end = now;
  note_steps(now);
  if (phase() == Phase::done) return false;
  if (recorded_start_up(now)) {
    ++repeated_;
    steps_missed_ = false;
    lay_out_windows();
    move_to(1, now);
    return true;
  }
  if (were_other_steps()) {
    move_to(0, now);
    return true;
  }
  wait_for_launches(now);
  if (!is_over(windows_[at_])) return false;
  const bool counted =
      !options_.captures && (phase() == Phase::waiting ? options_.warmup_steps > 0
                                                       : phase() == Phase::recording && options_.recorded_steps > 0);
  steps_missed_ = steps_missed_ || (counted && now.step_launches == 0);
  move_to(at_ + 1, now);
  return true;
}

void Schedule::move_to(std::size_t at, const Progress& now) {
  at_ = at;
  if (phase() == Phase::recording) {
    recorded_steady_ = steady_;
    recorded_steady_.step_launches = now.step_launches;
    recorded_after_s_ = launching_s_;
  }
  restart_window(now);
}

/// Before anything was recorded, what repeated has given way to something else, or something began to repeat.
bool Schedule::were_other_steps() const {
  const bool watched = is_adaptive() && at_ == 1 && phase() == Phase::plain;
  return watched && steady_.elapsed_s > windows_[at_].begin.elapsed_s;
}

/// While a program compiles nothing is there to be recorded: the window lasts as long from its first launch.
void Schedule::wait_for_launches(const Progress& now) {
  if (!is_adaptive()) return;
  Window& window = windows_[at_];
  const bool is_silent = phase() == Phase::recording
                             ? now.launches == window.begin.launches
                             : is_before_another() && now.elapsed_s - last_launch_s_ > kSilence_s;
  if (is_silent) window.begin = now;
}

/// A recording is thrown away only once there is something to record in its place: the program may launch no more.
bool Schedule::is_before_another() const { return at_ == 1 && phase() == Phase::plain && repeated_ > 0; }

void Schedule::note_steps(const Progress& now) {
  launched_ = now.launches > launches_;
  if (launched_) last_launch_s_ = now.elapsed_s;
  if (launches_ > 0 && now.elapsed_s - last_launch_s_ <= kSilence_s) launching_s_ += now.elapsed_s - noted_s_;
  launches_ = now.launches;
  noted_s_ = now.elapsed_s;
  const bool same = now.maybe_step == steady_.maybe_step ||
                    (now.maybe_step > 0 && steady_.maybe_step > 0 && are_alike(now.maybe_step, steady_.maybe_step));
  if (!same) steady_ = now;
}

bool Schedule::recorded_start_up(const Progress& now) const {
  const bool recorded = phase() == Phase::recording || at_ > 1;
  if (!is_adaptive() || !recorded || repeated_ >= kMostRepeated) return false;
  if (now.step_launches <= 0) {
    return phase() != Phase::recording && recorded_steady_.step_launches == 0 &&
           launching_s_ >= kMuchLater * recorded_after_s_;
  }
  if (recorded_steady_.step_launches == 0) return true;
  if (recorded_steady_.maybe_step == kNamedSteps || steady_.elapsed_s <= recorded_steady_.elapsed_s) return false;
  if (are_alike(now.step_launches, recorded_steady_.step_launches)) return false;
  // An evaluation before the training launches its forwards alone; one after it is no reason to record anew.
  const bool trains_now = static_cast<double>(now.step_launches) >=
                          kForwardAndMore * static_cast<double>(recorded_steady_.step_launches);
  return trains_now || steady_.elapsed_s - recorded_steady_.elapsed_s < kLongestStartUp_s;
}

/// While the steps were watched nothing was recorded: that counts for the first plain window.
void Schedule::restart_window(const Progress& now) {
  windows_[at_].begin = windows_[at_].end = now;
  windows_[at_].end.step_s = 0;
  const bool watched = is_adaptive() && at_ == 1 && phase() == Phase::plain && repeated_ == 0;
  if (watched && now.step_launches > 0) windows_[at_].begin = steady_;
}

bool Schedule::is_warm(const Window& waiting) const {
  if (options_.warmup_steps > 0) {
    if (waiting.end.step_launches > 0) return waiting.end.steps >= options_.warmup_steps;
    return waiting.end.elapsed_s - waiting.begin.elapsed_s >= kStepSearch_s;
  }
  if (!is_adaptive()) return waiting.end.elapsed_s - waiting.begin.elapsed_s >= options_.delay_s;
  if (waiting.end.step_launches > 0) return true;
  const double unchanged_s = waiting.end.elapsed_s - steady_.elapsed_s;  // sequences that come and go are a start-up
  return launching_s_ >= 3 * kPatience_s || std::min(launching_s_, unchanged_s) >= kPatience_s;
}

bool Schedule::is_over(const Window& window) const {
  const double elapsed_s = window.end.elapsed_s - window.begin.elapsed_s;
  const std::int64_t step_launches = window.end.step_launches;
  const std::int64_t launches = window.end.launches - window.begin.launches;
  if (options_.captures) return window.phase == Phase::waiting ? window.end.part_begun : window.end.part_ended;
  if (window.phase == Phase::waiting) return is_warm(window);
  if (window.phase == Phase::recording && options_.recorded_steps > 0 && step_launches > 0) {
    return launches >= (options_.recorded_steps + 1) * step_launches;  // the first and the last one are cut
  }
  if (elapsed_s < length_of(window) || (is_before_another() && !launched_)) return false;
  const bool last = &window == &windows_[windows_.size() - 2];
  if (is_adaptive() && last && recorded_steady_.step_launches == 0 && launching_s_ < kStepSearch_s) {
    return false;  // steps may still come
  }
  const bool measures = window.phase == Phase::plain || window.phase == Phase::probing;
  const bool too_few = step_launches > 0 && launches < kFewestSteps * step_launches;
  return !(measures && too_few && elapsed_s < kLongestWindow_s);
}

double Schedule::length_of(const Window& window) const {
  const double duration_s = options_.duration_s > 0 ? options_.duration_s : 2;
  const double short_s = std::clamp(duration_s / 2, 0.25, 1.0);
  if (&window == &windows_[1] && window.phase == Phase::plain) {  // it is compared with all others
    const double young_s = window.begin.elapsed_s * kFirstPlainShare;
    return is_adaptive() ? std::clamp(young_s, kShortestFirstPlain_s, kLongestFirstPlain_s) : 2 * short_s;
  }
  switch (window.phase) {
    case Phase::recording: return options_.duration_s > 0 || options_.recorded_steps > 0 ? duration_s : kForever_s;
    case Phase::plain:
    case Phase::probing: return short_s;
    case Phase::waiting:
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

/// By how much `slow` is slower than `fast`: by its steps, else by its launches; below -1 if neither tells.
double Schedule::slowdown(const Window& slow, const Window& fast) {
  if (slow.end.step_s > 0 && fast.end.step_s > 0) return slow.end.step_s / fast.end.step_s - 1;
  return rate(slow) > 0 && rate(fast) > 0 ? rate(fast) / rate(slow) - 1 : -2;
}

Inflation Schedule::inflation() const {
  std::vector<double> found;
  const bool assumed = is_adaptive();  // the first plain window is short there, and steps may not have settled in it
  double residual = assumed ? kUsualResidual : 0;
  for (std::size_t i = 1; i + 1 < windows_.size(); ++i) {
    const Window &before = windows_[i - 1], &recorded = windows_[i], &after = windows_[i + 1];
    if (recorded.phase != Phase::recording && recorded.phase != Phase::probing) continue;
    const double over_before = slowdown(recorded, before), over_after = slowdown(recorded, after);
    if (before.phase != Phase::plain || after.phase != Phase::plain || over_before < -1 || over_after < -1) continue;
    const bool first = recorded.phase == Phase::recording;
    if (first && !assumed) residual = std::max(0.0, (1 + over_before) / (1 + over_after) - 1);
    found.push_back(first ? over_after : (over_before + over_after) / 2);
  }
  if (found.empty()) return {};
  std::sort(found.begin(), found.end());
  const auto with = [](double value, double more) { return std::max(0.0, (1 + value) * (1 + more) - 1); };
  return {.typical = with(found[(found.size() - 1) / 2], residual),
          .low = std::max(0.0, found.front()),
          .high = with(found.back(), assumed ? kMostResidual : residual),
          .residual = residual,
          .residual_assumed = assumed,
          .windows = static_cast<int>(found.size())};
}

}  // namespace warpmark::profile::module
