#include "analyze/steps/launch_sequence.h"

#include <gtest/gtest.h>

#include <random>

namespace warpmark::analyze {
namespace {

using Launches = std::vector<std::uint32_t>;

/// A step in which each kind of launch occurs at uneven distances: down and up a pyramid.
const Launches kPyramid = {1, 1, 2, 2, 3, 3, 4, 2, 1, 1, 5, 2, 3, 1, 4, 3, 5, 5, 2, 1};

Launches repeated(const Launches& step, int times) {
  Launches all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), step.begin(), step.end());
  return all;
}

TEST(LaunchSequence, matches_itself_though_every_kind_occurs_at_uneven_distances) {
  const Launches launches = repeated(kPyramid, 9);
  EXPECT_TRUE(repeating_sequence(launches).empty());
  EXPECT_EQ(even_spacing(self_matching_sequence(launches)), kPyramid.size());
}

TEST(LaunchSequence, matches_itself_in_spite_of_noise) {
  std::mt19937 random(5);
  Launches launches;
  for (int i = 0; i < 200; ++i) {
    launches.insert(launches.end(), kPyramid.begin(), kPyramid.end());
    if (random() % 10 == 0) launches.push_back(9);
  }
  EXPECT_EQ(even_spacing(self_matching_sequence(launches)), kPyramid.size());
}

TEST(LaunchSequence, matches_itself_behind_a_start_up_of_half_the_launches) {
  std::mt19937 random(6);
  Launches launches;
  for (int i = 0; i < 400; ++i) launches.push_back(static_cast<std::uint32_t>(random() % 6));
  const Launches steps = repeated(kPyramid, 25);
  launches.insert(launches.end(), steps.begin(), steps.end());
  const std::vector<std::size_t> starts = self_matching_sequence(launches);
  EXPECT_EQ(even_spacing(starts), kPyramid.size());
  EXPECT_GE(starts.size(), 24U);
  EXPECT_LE(starts.size(), 26U);
}

TEST(LaunchSequence, prefers_the_step_to_what_repeats_within_it) {
  Launches launches;
  for (int i = 0; i < 12; ++i) {
    launches.push_back(9);
    for (int inner = 0; inner < 16; ++inner) launches.insert(launches.end(), kPyramid.begin(), kPyramid.end());
  }
  EXPECT_EQ(even_spacing(self_matching_sequence(launches)), 16 * kPyramid.size() + 1);
}

TEST(LaunchSequence, matches_nothing_where_nothing_repeats) {
  std::mt19937 random(7);
  Launches launches;
  for (int i = 0; i < 5000; ++i) launches.push_back(static_cast<std::uint32_t>(random() % 12));
  EXPECT_TRUE(self_matching_sequence(launches).empty());
  EXPECT_TRUE(self_matching_sequence({}).empty());
  EXPECT_TRUE(self_matching_sequence({1, 2, 3, 4}).empty());
  EXPECT_TRUE(self_matching_sequence(Launches(500, 3)).empty()) << "one launch is no sequence";
}

}  // namespace
}  // namespace warpmark::analyze
