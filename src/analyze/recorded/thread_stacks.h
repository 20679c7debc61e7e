// In which frame each thread was at any time, from stacks that were sampled (`warpmark profile`) or recorded with each
// call (PyTorch's profiler with_stack=True).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// From `start` until the next one, the thread was in this frame.
struct InFrame {
  std::int64_t start = 0;
  EventIndex own = kNoEvent;        ///< innermost frame of the program's own code
  EventIndex innermost = kNoEvent;  ///< kNoEvent: no stack is known
};

struct TimeInFrame {
  InFrame frame;
  std::int64_t ns = 0;
};

class ThreadStacks {
 public:
  /// Of a timeline that outlives this object.
  explicit ThreadStacks(const Timeline& timeline);
  [[nodiscard]] bool empty() const { return threads_.empty(); }

  /// What the thread of `track` was in within the interval; of samples, where nothing overlaps, the nearest for 20 ms,
  /// as 1 ns. A thread without stacks works for the main one, as does one that runs what a compiler generated and
  /// nothing of the program: PyTorch's backward pass.
  [[nodiscard]] std::vector<TimeInFrame> within(std::uint32_t track, std::int64_t from, std::int64_t to) const;
  /// The frame that a sample saw while the thread was between these times; none where stacks are not samples.
  [[nodiscard]] std::optional<InFrame> seen_at(std::uint32_t track, std::int64_t from, std::int64_t to) const;

 private:
  using ThreadId = std::pair<std::int64_t, std::int64_t>;  // process, thread
  using Frames = std::vector<InFrame>;

  /// Frames of one thread by start, the outer ones first.
  [[nodiscard]] Frames in_frames(const std::vector<EventIndex>& frames) const;
  [[nodiscard]] bool is_own(EventIndex frame) const;
  [[nodiscard]] bool is_generated(EventIndex frame) const;

  const Timeline& timeline_;
  std::map<ThreadId, Frames> threads_;
  ThreadId main_{};
  bool sampled_ = false;  ///< a frame begins when it was first seen
  mutable std::map<NameId, bool> own_;
};

}  // namespace warpmark::analyze
