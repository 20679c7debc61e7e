// The shortest shift under which the sequence equals itself, unless a longer one fits far better: the layers of a model
// repeat too, within a step, and differ from the step in little more than its ends.
#include "profile/module/launch_history.h"

#include <algorithm>

namespace warpmark::profile::module {
namespace {

constexpr std::size_t kFewestLaunches = 64;
constexpr std::size_t kShareThatMayDiffer = 50;  // one in so many
constexpr std::size_t kFarBetter = 4;            // times fewer differences

/// Launches that differ from the one `shift` before, counted until there are more than `most`.
std::size_t differences(std::span<const std::uint64_t> launches, std::size_t shift, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = shift; i < launches.size() && count <= most; ++i) {
    count += launches[i] == launches[i - shift] ? 0U : 1U;
  }
  return count;
}

std::int64_t shortest_repetition(std::span<const std::uint64_t> launches, std::size_t times) {
  std::size_t best = 0;
  std::size_t fewest = 0;
  for (std::size_t shift = 1; shift * times <= launches.size(); ++shift) {
    const std::size_t allowed = best == 0 ? (launches.size() - shift) / kShareThatMayDiffer : fewest / kFarBetter;
    const std::size_t found = differences(launches, shift, allowed);
    if (found > allowed) continue;
    best = shift;
    fewest = found;
    if (found < kFarBetter) break;  // nothing can be far better
  }
  return static_cast<std::int64_t>(best);
}

constexpr std::int64_t kFirstPauseNs = 60'000'000;
constexpr std::int64_t kLongestPauseNs = 1'000'000'000;
constexpr std::int64_t kManyLaunches = 1 << 13;  // looking among fewer takes less than a millisecond
constexpr int kConfirmations = 2;
constexpr std::int64_t kLatelyNs = 2'000'000'000;  // what repeats that long and nothing else is a step
constexpr std::int64_t kFewestNamedSteps = 3;      // fewer tell nothing about the launches of one

}  // namespace

std::vector<std::uint64_t> LaunchHistory::recent() const {
  const std::uint64_t count = count_.load(std::memory_order_relaxed);
  const std::uint64_t kept = count < kKept ? count : kKept;
  std::vector<std::uint64_t> found;
  found.reserve(kept);
  for (std::uint64_t i = count - kept; i < count; ++i) {
    found.push_back(launches_[i % kKept].load(std::memory_order_relaxed));
  }
  return found;
}

std::vector<std::uint64_t> LaunchHistory::throughout(std::int64_t begin_ns, std::int64_t end_ns) const {
  const std::uint64_t count = count_.load(std::memory_order_relaxed);
  const std::uint64_t oldest = count < kKept ? 0 : count - kKept;
  const std::int64_t near = (end_ns - begin_ns) / 4;
  std::vector<std::uint64_t> found;
  std::int64_t first = end_ns;
  std::int64_t last = begin_ns;
  for (std::uint64_t i = count; i-- > oldest;) {
    const std::int64_t time = times_[i % kKept].load(std::memory_order_relaxed);
    if (time < begin_ns) break;
    found.push_back(launches_[i % kKept].load(std::memory_order_relaxed));
    first = time;
    last = std::max(last, time);
  }
  if (first > begin_ns + near || last < end_ns - near) return {};
  std::reverse(found.begin(), found.end());
  return found;
}

double LaunchHistory::step_ns(std::int64_t step_launches, std::int64_t since_ns) const {
  constexpr std::uint64_t kSamples = 512;
  constexpr std::size_t kFewest = 16;
  const std::uint64_t count = count_.load(std::memory_order_relaxed);
  const auto length = static_cast<std::uint64_t>(step_launches);
  if (step_launches <= 0 || count < 2 * length) return 0;
  const std::uint64_t kept = std::min(count, kKept - kKept / 8);  // the oldest are being overwritten
  std::vector<std::int64_t> times;
  const std::uint64_t stride = std::max<std::uint64_t>(1, kept / kSamples);
  for (std::uint64_t i = count - kept; i + length < count; i += stride) {
    const std::int64_t from = times_[i % kKept].load(std::memory_order_relaxed);
    if (from >= since_ns) times.push_back(times_[(i + length) % kKept].load(std::memory_order_relaxed) - from);
  }
  if (times.size() < kFewest) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle);
}

std::int64_t repeated_length(std::span<const std::uint64_t> launches) {
  // Start-up is left out by looking at the later half, of which a step may be at most a third.
  const auto later = launches.subspan(launches.size() / 2);
  return later.size() < kFewestLaunches ? 0 : shortest_repetition(later, 3);
}

std::int64_t repeated_throughout(std::span<const std::uint64_t> launches) {
  constexpr std::size_t kFewest = 8;
  return launches.size() < kFewest ? 0 : shortest_repetition(launches, 5);
}

void StepFinder::probe(std::int64_t now_ns, const LaunchHistory& history, std::int64_t named_steps, bool busy) {
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
