// Searches over settings that change nothing must claim nothing, and such settings must not hide one that gains.
#include <gtest/gtest.h>

#include <algorithm>

#include "optimize/random_trials.h"

namespace warpmark::optimize {
namespace {

struct Counted {
  int attributed = 0;  ///< searches that report a speedup
  int found_real = 0;  ///< of these, with "real" in the plan
};

Counted search_often(const RandomNoise& noise, int settings, double real, int searches) {
  Counted counted;
  for (int i = 0; i < searches; ++i) {
    RandomTrials trials(noise, static_cast<std::uint64_t>(1000 + i), {{"real", real}});
    Optimization optimization;
    optimization.baseline.seconds_per_step = 1;
    const auto options =
        options_of_nothing(settings, real < 1 ? std::vector<std::string>{"real"} : std::vector<std::string>{});
    EXPECT_TRUE(search(trials, {}, options, optimization).ok());
    counted.attributed += optimization.measured_speedup ? 1 : 0;
    counted.found_real += std::ranges::any_of(optimization.plan, [](const auto& one) { return one.first == "real"; });
  }
  return counted;
}

/// The seeds are fixed: the counts are the same on every machine with this standard library.
TEST(RandomSearch, of_settings_that_change_nothing_claims_nothing_in_95_of_100) {
  constexpr int kSearches = 400;
  for (const RandomNoise& noise :
       {RandomNoise{0.01, 0.03}, RandomNoise{0.03, 0.05}, RandomNoise{0.02, 0.08}, RandomNoise{0.02, 0.03, 0.1}}) {
    for (const int settings : {1, 5}) {
      EXPECT_LE(search_often(noise, settings, 1, kSearches).attributed, kSearches / 20)
          << noise.block << " " << noise.run << " " << settings;
    }
  }
}

TEST(RandomSearch, finds_what_gains_among_settings_that_change_nothing) {
  constexpr int kSearches = 100;
  EXPECT_GE(search_often({0.01, 0.03}, 5, 0.7, kSearches).found_real, 95);
  EXPECT_GE(search_often({0.02, 0.03, 0.05}, 5, 0.5, kSearches).found_real, 95);
}

}  // namespace
}  // namespace warpmark::optimize
