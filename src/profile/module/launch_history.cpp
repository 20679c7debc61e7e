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
  if (later.size() < kFewestLaunches) return 0;
  std::size_t best = 0;
  std::size_t fewest = 0;
  for (std::size_t shift = 1; shift * 3 <= later.size(); ++shift) {
    const std::size_t allowed = best == 0 ? (later.size() - shift) / kShareThatMayDiffer : fewest / kFarBetter;
    const std::size_t found = differences(later, shift, allowed);
    if (found > allowed) continue;
    best = shift;
    fewest = found;
    if (found < kFarBetter) break;  // nothing can be far better
  }
  return static_cast<std::int64_t>(best);
}

}  // namespace warpmark::profile::module
