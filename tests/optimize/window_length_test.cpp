#include "optimize/apply/window_length.h"

#include <gtest/gtest.h>

#include <vector>

namespace warpmark::optimize {
namespace {

/// Steps of 20 ms that differ by `part`, each from the one before or in groups of `alike`.
std::vector<double> steps(double part, std::size_t alike = 1) {
  std::vector<double> times;
  for (std::size_t i = 0; i < 200; ++i) times.push_back(0.02 * (1 + (i / alike % 2 == 0 ? part : -part)));
  return times;
}

TEST(WindowLength, grows_with_the_noise_of_steps_and_with_a_smaller_effect) {
  EXPECT_EQ(window_length(steps(0.01), 0.01, 0.1, 100).steps, 20) << "16 would do";
  EXPECT_NEAR(static_cast<double>(window_length(steps(0.04), 0.01, 0.1, 100).steps), 257, 3) << "(4 %/0.25 %)^2";
  EXPECT_NEAR(window_length(steps(0.04), 0.01, 0.1, 100).error, 0.0025, 1e-5);
  EXPECT_NEAR(static_cast<double>(window_length(steps(0.04), 0.02, 0.1, 100).steps), 65, 2);
}

TEST(WindowLength, steps_that_resemble_those_before_them_tell_less) {
  const auto alone = window_length(steps(0.04), 0.01, 0.1, 1000),
             alike = window_length(steps(0.04, 10), 0.01, 0.1, 1000);
  EXPECT_GT(alike.steps, 5 * alone.steps);
  EXPECT_NEAR(alike.error, 0.0025, 1e-5);
}

TEST(WindowLength, keeps_within_the_time_it_is_given) {
  EXPECT_EQ(window_length(steps(0), 0.01, 1, 10).steps, 50) << "a second";
  const auto noisy = window_length(steps(0.5), 0.01, 1, 10);
  EXPECT_EQ(noisy.steps, 500) << "ten seconds";
  EXPECT_GT(noisy.error, 0.02) << "which are not enough";
  EXPECT_EQ(window_length(std::vector<double>{3, 3, 3}, 0.01, 1, 10).steps, 20) << "never fewer";
}

}  // namespace
}  // namespace warpmark::optimize
