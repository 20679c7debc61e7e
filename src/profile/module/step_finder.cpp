#include "profile/module/step_finder.h"

#include <algorithm>

namespace warpmark::profile::module {
namespace {

constexpr std::int64_t kFirstPauseNs = 60'000'000;
constexpr std::int64_t kLongestPauseNs = 1'000'000'000;
constexpr std::int64_t kManyLaunches = 1 << 13;  // looking among fewer takes less than a millisecond
constexpr int kConfirmations = 2;
constexpr std::int64_t kLatelyNs = 2'000'000'000;  // what repeats that long and nothing else is a step
constexpr std::int64_t kFewestNamedSteps = 3;      // fewer tell nothing about the launches of one

}  // namespace

void StepFinder::look(std::int64_t now_ns, const LaunchHistory& history, std::int64_t named_steps, bool busy) {
  launches_ = history.count();
  if (named_steps > 0 && named_steps_ == 0) {
    first_named_ = named_steps;
    first_launches_ = launches_;
  }
  named_steps_ = named_steps;
  if (launches_ == 0 || now_ns - searched_ns_ < pause_ns_ || (busy && is_known())) return;
  if (launches_ - searched_launches_ < std::max<std::int64_t>(1, step_launches_)) return;  // nothing to confirm it
  searched_ns_ = now_ns;
  searched_launches_ = launches_;
  const std::int64_t length = search(now_ns, history);
  const bool cheap = length > 0 || launches_ < kManyLaunches;
  pause_ns_ = cheap ? kFirstPauseNs : std::clamp(pause_ns_ + pause_ns_ / 2, kFirstPauseNs, kLongestPauseNs);
  if (length == 0) return;  // a disturbed step, maybe: what was found before still holds
  confirmed_ = length == step_launches_ ? confirmed_ + 1 : 0;
  if (length != step_launches_) known_at_ = launches_;
  step_launches_ = length;
}

/// The later half of all launches, as start-up is left out so. Steps of a few launches (replays of graphs) after a
/// start-up of very many are found among the last ones alone.
std::int64_t StepFinder::search(std::int64_t now_ns, const LaunchHistory& history) {
  const std::int64_t length = repeated_length(history.recent());
  return length > 0 ? length : repeated_throughout(history.throughout(now_ns - kLatelyNs, now_ns));
}

bool StepFinder::is_known() const { return step_launches_ > 0 && confirmed_ >= kConfirmations; }

Progress StepFinder::progress() const {
  Progress now{.launches = launches_};
  const std::int64_t named = named_steps_ - first_named_;
  if (named_steps_ > 0 && named >= kFewestNamedSteps) {
    now.steps = named_steps_;
    now.step_launches = std::max<std::int64_t>(1, (launches_ - first_launches_) / named);
    now.maybe_step = kNamedSteps;
    return now;
  }
  now.maybe_step = step_launches_;
  if (is_known()) {
    // When the steps are found, the program has made some already: at least three are needed to find them.
    now.steps = 3 + (launches_ - known_at_) / step_launches_;
    now.step_launches = step_launches_;
  }
  return now;
}

const char* StepFinder::found_by() const {
  if (named_steps_ - first_named_ >= kFewestNamedSteps) return "ranges";
  return is_known() ? "kernels" : "";
}

}  // namespace warpmark::profile::module
