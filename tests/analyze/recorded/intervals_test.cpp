#include "analyze/recorded/intervals.h"

#include <gtest/gtest.h>

#include <random>

namespace warpmark::analyze {
namespace {

std::vector<bool> painted(const std::vector<Interval>& intervals, std::int64_t length) {
  std::vector<bool> cells(static_cast<std::size_t>(length), false);
  for (const Interval& one : intervals) {
    for (std::int64_t t = one.start; t < one.end; ++t) cells[static_cast<std::size_t>(t)] = true;
  }
  return cells;
}

std::vector<Interval> random_intervals(std::mt19937& random, std::int64_t length) {
  std::vector<Interval> result;
  std::uniform_int_distribution<std::int64_t> at(0, length - 20);
  std::uniform_int_distribution<std::int64_t> size(0, 19);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t start = at(random);
    result.push_back({start, start + size(random)});
  }
  return result;
}

TEST(Intervals, agree_with_painted_cells) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto a = random_intervals(random, 200);
    const auto b = random_intervals(random, 200);
    const auto cells_a = painted(a, 200);
    const auto cells_b = painted(b, 200);
    std::int64_t both = 0;
    std::int64_t only_a = 0;
    std::int64_t in_a = 0;
    for (std::size_t t = 0; t < 200; ++t) {
      both += cells_a[t] && cells_b[t];
      only_a += cells_a[t] && !cells_b[t];
      in_a += cells_a[t] && t >= 30 && t < 170;
    }
    EXPECT_EQ(overlap_length(united(a), united(b)), both);
    EXPECT_EQ(total_length(difference(united(a), united(b))), only_a);
    EXPECT_EQ(painted(united(a), 200), cells_a);
    EXPECT_EQ(Coverage(a).covered(30, 170), in_a);
  }
}

TEST(Intervals, union_joins_neighbours_that_touch) {
  EXPECT_EQ(united({{5, 7}, {0, 5}, {9, 9}}), (std::vector<Interval>{{0, 7}}));
}

TEST(Coverage, of_nothing_is_nothing) {
  EXPECT_EQ(Coverage().covered(0, 100), 0);
  EXPECT_EQ(Coverage({{0, 10}}).covered(8, 3), 0);
}

}  // namespace
}  // namespace warpmark::analyze
