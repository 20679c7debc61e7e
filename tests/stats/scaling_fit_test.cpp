#include "stats/scaling_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/distributions.h"
#include "stats/random.h"
#include "support/sanitized.h"

namespace warpmark::stats {
namespace {

/// Throughputs of a law with noise of this standard deviation on their logarithms.
std::vector<ScalingSample> noisy(ScalingLaw law, const std::vector<double>& parameters, double noise,
                                 std::uint64_t seed) {
  std::vector<ScalingSample> samples;
  std::uint64_t number = 0;
  for (const double workers : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      const double z = normal_quantile(std::min(std::max(random_unit(seed, number++), 1e-12), 1 - 1e-12));
      samples.push_back({workers, 120 * speed_up(law, parameters, workers) * std::exp(noise * z)});
    }
  }
  return samples;
}

struct Planted {
  ScalingLaw law;
  std::vector<double> parameters;
  double noise;
};

TEST(ScalingFit, intervals_hold_planted_parameters_and_forecasts_95_times_in_100) {
  const Planted cases[] = {{ScalingLaw::amdahl, {0.05}, 0.02},      {ScalingLaw::amdahl, {0.3}, 0.05},
                           {ScalingLaw::gustafson, {0.1}, 0.03},    {ScalingLaw::usl, {0.05, 0.002}, 0.02},
                           {ScalingLaw::usl, {0.02, 0.0005}, 0.03}, {ScalingLaw::usl, {0.0, 0.001}, 0.02}};
  const int kTrials = testing_support::trials(400);
  const double fewest = 0.95 * kTrials - 4 * std::sqrt(kTrials * 0.95 * 0.05);
  for (const auto& planted : cases) {
    std::vector<int> held(planted.parameters.size(), 0);
    int predicted = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto samples =
          noisy(planted.law, planted.parameters, planted.noise, derive_seed(11, static_cast<std::uint64_t>(trial)));
      const auto fit = fit_scaling(planted.law, samples);
      ASSERT_TRUE(fit.ok());
      for (std::size_t i = 0; i < held.size(); ++i) {
        const auto& interval = fit.intervals[i];
        held[i] += interval.low <= planted.parameters[i] && planted.parameters[i] <= interval.high ? 1 : 0;
      }
      const auto reported = forecast(fit, 64);
      const double truth = speed_up(planted.law, planted.parameters, 64);
      predicted += reported.interval.low <= truth * (1 + 1e-9) && truth <= reported.interval.high * (1 + 1e-9) ? 1 : 0;
    }
    // 400 trials of 95 % give 380 +- 4.4: four standard deviations less are 362.6.
    for (const int count : held) EXPECT_GE(count, fewest) << name_of(planted.law) << " of " << kTrials;
    EXPECT_GE(predicted, fewest) << name_of(planted.law) << " of " << kTrials;
  }
}

TEST(ScalingFit, recovers_exact_data_exactly) {
  const auto fit = fit_scaling(ScalingLaw::usl, noisy(ScalingLaw::usl, {0.05, 0.002}, 0, 1));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit.parameters[0], 0.05, 1e-5);
  EXPECT_NEAR(fit.parameters[1], 0.002, 1e-6);
  EXPECT_NEAR(fit.single, 120, 1e-3);
  EXPECT_NEAR(*usl_peak(fit), std::sqrt(0.95 / 0.002), 0.1);
  EXPECT_NEAR(forecast(fit, 1).speed_up, 1, 1e-6);
}

TEST(ScalingFit, says_when_there_are_not_enough_points) {
  const std::vector<ScalingSample> two{{1, 10}, {2, 19}};
  EXPECT_NE(fit_scaling(ScalingLaw::amdahl, two).reason.find("not enough points"), std::string::npos);
  const std::vector<ScalingSample> same{{2, 10}, {2, 11}, {2, 10}, {2, 12}};
  EXPECT_NE(fit_scaling(ScalingLaw::amdahl, same).reason.find("1 different"), std::string::npos);
  const std::vector<ScalingSample> twice{{1, 10}, {2, 19}, {1, 10.1}, {2, 19.2}};
  EXPECT_TRUE(fit_scaling(ScalingLaw::amdahl, twice).ok());
  EXPECT_NE(fit_scaling(ScalingLaw::usl, twice).reason.find("3 are needed"), std::string::npos);
}

TEST(ScalingFit, holds_parameters_within_their_limits_and_fits_the_others_again) {
  const std::vector<ScalingSample> beyond{{1, 10}, {2, 21}, {4, 43}, {8, 88}, {1, 10.05}, {8, 87}};
  const auto fit = fit_scaling(ScalingLaw::amdahl, beyond);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit.parameters[0], 0);
  EXPECT_EQ(fit.intervals[0].low, 0);
  EXPECT_NEAR(forecast(fit, 16).speed_up, 16, 1e-9);
  EXPECT_LT(fit.lack_of_fit_p, 0.05) << "the workers are further off than repetitions";
  // Without exchange the USL is Amdahl's law: the same contention, whatever the exchange would be alone.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto samples = noisy(ScalingLaw::amdahl, {0.05}, 0.02, seed);
    const auto usl = fit_scaling(ScalingLaw::usl, samples), amdahl = fit_scaling(ScalingLaw::amdahl, samples);
    EXPECT_GE(usl.parameters[1], 0);
    if (usl.parameters[1] == 0) {
      EXPECT_NEAR(usl.parameters[0], amdahl.parameters[0], 1e-6);
    }
    EXPECT_LT(usl.residual, 1.3 * amdahl.residual);
  }
  // Throughput that does not grow: all of it is serial.
  const std::vector<ScalingSample> flat{{1, 10}, {2, 10.1}, {4, 9.9}, {8, 10}, {1, 9.9}, {8, 9.95}};
  EXPECT_NEAR(fit_scaling(ScalingLaw::amdahl, flat).parameters[0], 1, 0.02);
}

}  // namespace
}  // namespace warpmark::stats
