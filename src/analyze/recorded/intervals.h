// Sets of half-open time intervals in integer nanoseconds: union, overlap, and how much of a stretch is covered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpmark::analyze {

/// [start, end) in ns.
struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Disjoint, ascending, without empty ones; neighbours that touch are joined. O(n log n), O(n) if already sorted.
[[nodiscard]] std::vector<Interval> united(std::vector<Interval> intervals);
[[nodiscard]] std::int64_t total_length(std::span<const Interval> disjoint);
/// Length of the intersection of two disjoint ascending sets. O(n + m).
[[nodiscard]] std::int64_t overlap_length(std::span<const Interval> a, std::span<const Interval> b);
/// What of the disjoint ascending `a` is not in the disjoint ascending `b`. O(n + m).
[[nodiscard]] std::vector<Interval> difference(std::span<const Interval> a, std::span<const Interval> b);

/// Answers in O(log n) how much of a stretch is covered.
class Coverage {
 public:
  Coverage() = default;
  explicit Coverage(std::vector<Interval> intervals);
  /// Length of the union within [from, to); 0 if to <= from.
  [[nodiscard]] std::int64_t covered(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] std::span<const Interval> intervals() const { return intervals_; }

 private:
  [[nodiscard]] std::int64_t covered_before(std::int64_t time) const;
  std::vector<Interval> intervals_;
  std::vector<std::int64_t> before_;  // length of all intervals before the i-th
};

}  // namespace warpmark::analyze
