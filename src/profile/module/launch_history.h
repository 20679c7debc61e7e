// The last launches of a program, by what they launched: from them the length of its steps is found while it runs, and
// how many it has made, by the ranges that it names itself, else by the kernels that it launches again and again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "profile/module/schedule.h"

namespace warpmark::profile::module {

/// Written by any thread, read by one.
class LaunchHistory {
 public:
  /// `what` tells kernels apart; the same kernel always has the same number. `now_ns` is any clock's.
  void add(std::uint64_t what, std::int64_t now_ns) {
    const std::uint64_t at = count_.fetch_add(1, std::memory_order_relaxed);
    launches_[at % kKept].store(what, std::memory_order_relaxed);
    times_[at % kKept].store(now_ns, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(count_.load(std::memory_order_relaxed)); }
  /// The last ones, oldest first.
  [[nodiscard]] std::vector<std::uint64_t> recent() const;
  /// Those from `begin_ns` until `end_ns`, oldest first, if there were some at the beginning and at the end of that
  /// time; else none.
  [[nodiscard]] std::vector<std::uint64_t> throughout(std::int64_t begin_ns, std::int64_t end_ns) const;
  /// Median time between two launches that are a step of `step_launches` apart, of those kept since `since_ns`; 0 if
  /// there are too few. A few slow steps do not change it.
  [[nodiscard]] double step_ns(std::int64_t step_launches, std::int64_t since_ns) const;

 private:
  static constexpr std::uint64_t kKept = std::uint64_t{1} << 15;
  std::array<std::atomic<std::uint64_t>, kKept> launches_{};
  std::array<std::atomic<std::int64_t>, kKept> times_{};
  std::atomic<std::uint64_t> count_{0};
};

/// Length of the sequence that the later half of the launches repeats, at least three times and to the end; 0 if it
/// repeats none. Two in a hundred may differ: threads launch side by side, and now and then a step does something more.
[[nodiscard]] std::int64_t repeated_length(std::span<const std::uint64_t> launches);
/// The same of a few launches, all of them: at least five times.
[[nodiscard]] std::int64_t repeated_throughout(std::span<const std::uint64_t> launches);

/// Not thread safe.
class StepFinder {
 public:
  /// `named_steps` have ended so far, by ranges; 0 if the program names none. `now_ns` is any clock's. Looking for the
  /// steps costs up to a few milliseconds, so it is done now and then, and never while `busy`.
  void probe(std::int64_t now_ns, const LaunchHistory& history, std::int64_t named_steps, bool busy);
  /// Without the time.
  [[nodiscard]] Progress progress() const;
  /// "ranges", "kernels", or "" while nothing was found.
  [[nodiscard]] const char* found_by() const;

 private:
  [[nodiscard]] bool is_known() const;

  [[nodiscard]] static std::int64_t search(std::int64_t now_ns, const LaunchHistory& history);

  std::int64_t launches_ = 0;
  std::int64_t searched_ns_ = 0;
  std::int64_t searched_launches_ = 0;  ///< by then
  std::int64_t pause_ns_ = 0;           ///< until the next search
  std::int64_t step_launches_ = 0;      ///< by the kernels; 0 while unknown
  int confirmed_ = 0;                   ///< searches in a row that found it anew: start-up repeats things as well
  std::int64_t known_at_ = 0;           ///< launches when it was found
  std::int64_t named_steps_ = 0;
  std::int64_t first_named_ = 0;     ///< named steps when the first were seen ...
  std::int64_t first_launches_ = 0;  ///< ... and launches by then
};

}  // namespace warpmark::profile::module
