#include "analyze/recorded/intervals.h"

#include <algorithm>

namespace warpmark::analyze {

std::vector<Interval> united(std::vector<Interval> intervals) {
  const auto by_start = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  std::vector<Interval> result;
  for (const Interval& one : intervals) {
    if (one.end <= one.start) continue;
    if (!result.empty() && one.start <= result.back().end) {
      result.back().end = std::max(result.back().end, one.end);
    } else {
      result.push_back(one);
    }
  }
  return result;
}

std::int64_t total_length(std::span<const Interval> disjoint) {
  std::int64_t sum = 0;
  for (const Interval& one : disjoint) sum += one.end - one.start;
  return sum;
}

std::int64_t overlap_length(std::span<const Interval> a, std::span<const Interval> b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

std::vector<Interval> difference(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> result;
  std::size_t j = 0;
  for (const Interval& one : a) {
    std::int64_t from = one.start;
    while (j < b.size() && b[j].end <= from) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start < one.end; ++k) {
      if (b[k].start > from) result.push_back({from, b[k].start});
      from = std::max(from, b[k].end);
    }
    if (from < one.end) result.push_back({from, one.end});
  }
  return result;
}

Coverage::Coverage(std::vector<Interval> intervals) : intervals_(united(std::move(intervals))) {
  before_.reserve(intervals_.size());
  std::int64_t sum = 0;
  for (const Interval& one : intervals_) {
    before_.push_back(sum);
    sum += one.end - one.start;
  }
}

std::int64_t Coverage::covered(std::int64_t from, std::int64_t to) const {
  return to <= from ? 0 : covered_before(to) - covered_before(from);
}

std::int64_t Coverage::covered_before(std::int64_t time) const {
  const auto next = std::partition_point(intervals_.begin(), intervals_.end(),
                                         [time](const Interval& one) { return one.start < time; });
  if (next == intervals_.begin()) return 0;
  const auto i = static_cast<std::size_t>(next - intervals_.begin()) - 1;
  return before_[i] + std::min(time, intervals_[i].end) - intervals_[i].start;
}

}  // namespace warpmark::analyze
