#include "validate/scaling/scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/json.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "support/sanitized.h"

namespace warpmark::validate {
namespace {

/// Runs of a program with 5 % serial work, in three rounds that drift by 10 %.
std::vector<ScalingRun> amdahl_runs() {
  std::vector<ScalingRun> runs;
  for (int round = 0; round < 3; ++round) {
    for (const int workers : {1, 2, 4, 8}) {
      const double drift = 1 + 0.05 * round, noise = 1 + 0.002 * ((round * 7 + workers * 3) % 5 - 2);
      runs.push_back({.workers = workers, .round = round, .seconds = (0.05 + 0.95 / workers) * drift * noise});
    }
  }
  return runs;
}

TEST(Scaling, of_a_program_with_a_serial_part_is_graded_and_fitted) {
  Scaling scaling;
  scaling.mode = "strong";
  scaling.worker = "GPU";
  judge_scaling(amdahl_runs(), scaling);
  ASSERT_EQ(scaling.points.size(), 4U);
  EXPECT_NEAR(scaling.points[1].efficiency.value, 1 / 1.05, 0.01);
  EXPECT_EQ(scaling.points[1].grade, "excellent");
  EXPECT_TRUE(scaling.fits[0].chosen) << "the simpler law, as the other is no better";
  EXPECT_NE(scaling.points[1].usual.find("within"), std::string::npos);
  EXPECT_EQ(scaling.points[3].grade, "good");
  // Rounds are compared within themselves, so that the drift of 10 % does not widen the interval.
  ASSERT_TRUE(scaling.points[3].efficiency.interval);
  EXPECT_LT(scaling.points[3].efficiency.interval->high - scaling.points[3].efficiency.interval->low, 0.03);
  ASSERT_EQ(scaling.fits.size(), 2U);
  EXPECT_EQ(scaling.fits[0].law, "Amdahl");
  EXPECT_NEAR(scaling.fits[0].parameters[0].second.value, 0.05, 0.02);
  ASSERT_EQ(scaling.forecasts.size(), 6U);
  EXPECT_EQ(scaling.forecasts[5].workers, 1024);
  EXPECT_NEAR(scaling.forecasts[5].speed_up.value, 19.6, 8);
}

/// Throughputs of a law in rounds, with noise on their logarithms.
std::vector<ScalingRun> runs_of(const std::function<double(int workers)>& speed_up, const std::vector<int>& numbers,
                                double noise, std::uint64_t seed = 1) {
  std::vector<ScalingRun> runs;
  std::uint64_t number = 0;
  for (int round = 0; round < 3; ++round) {
    for (const int workers : numbers) {
      const double z = stats::normal_quantile(std::clamp(stats::random_unit(seed, number++), 1e-9, 1 - 1e-9));
      runs.push_back({.workers = workers, .round = round, .throughput = 100 * speed_up(workers) * std::exp(noise * z)});
    }
  }
  return runs;
}

Scaling judged(const std::string& mode, const std::vector<ScalingRun>& runs) {
  Scaling scaling;
  scaling.mode = mode, scaling.worker = "GPU";
  judge_scaling(runs, scaling);
  return scaling;
}

double usl(double a, double b, int n) { return n / (1 + a * (n - 1) + b * n * (n - 1)); }

TEST(Scaling, the_law_that_describes_best_forecasts_alone) {
  // Weak scaling with contention: Gustafson's law would promise 760 of 1024, the USL's 19.6 is right.
  const auto weak = judged("weak", runs_of([](int n) { return usl(0.05, 0, n); }, {1, 2, 4, 8}, 0.005, 3));
  EXPECT_NE(weak.fits[0].reason.find("does not describe what was measured"), std::string::npos) << weak.fits[0].reason;
  EXPECT_TRUE(weak.fits[1].chosen);
  ASSERT_EQ(weak.forecasts.size(), 6U);
  EXPECT_LE(weak.forecasts[5].speed_up.interval->low, 19.6);
  EXPECT_GE(weak.forecasts[5].speed_up.interval->high, 19.6);
  EXPECT_LT(weak.forecasts[5].speed_up.value, 40);
  ASSERT_EQ(weak.fits[1].off.size(), 4U);
  EXPECT_LT(std::abs(weak.fits[1].off[3].second), 0.02);
}

TEST(Scaling, forecasts_nothing_where_no_law_describes_what_was_measured) {
  const auto beyond = judged("strong", runs_of([](int n) { return std::pow(n, 1.1); }, {1, 2, 4, 8, 32}, 0.005));
  EXPECT_TRUE(beyond.forecasts.empty());
  EXPECT_NE(beyond.no_forecast.find("No law describes"), std::string::npos);
  for (const auto& fit : beyond.fits) EXPECT_FALSE(fit.reason.empty()) << fit.law;
}

TEST(Scaling, tells_no_peak_that_is_none) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto flat = judged("strong", runs_of([](int) { return 1.0; }, {1, 2, 4, 8}, 0.01, seed));
    EXPECT_GE(flat.peak_workers.value_or(1), 1) << seed;
    const auto linear = judged("strong", runs_of([](int n) { return usl(0.02, 0, n); }, {1, 2, 4, 8}, 0.01, seed));
    EXPECT_LE(linear.peak_workers.value_or(1), 32) << seed;
  }
  const auto usual = judged("strong", runs_of([](int n) { return usl(0.03, 0.005, n); }, {1, 2, 4, 8, 16, 32}, 0.005));
  EXPECT_NEAR(usual.peak_workers.value_or(0), std::sqrt(0.97 / 0.005), 2);
}

TEST(Scaling, has_one_baseline_for_what_was_measured_and_what_is_forecast) {
  const auto scaling = judged("strong", runs_of([](int n) { return usl(0.2, 0, n); }, {2, 4, 8, 16}, 0.0005));
  EXPECT_NEAR(scaling.points[0].speed_up.value, 2, 1e-9);
  // 16 workers: 4 over 1.667 of two, which count as 2.
  EXPECT_NEAR(scaling.points[3].speed_up.value, 2 * 4 / (2 / 1.2), 0.02);
  EXPECT_NEAR(scaling.forecasts[0].speed_up.value, 2 * usl(0.2, 0, 32) / (2 / 1.2), 0.05);
}

TEST(Scaling, covers_planted_laws_in_95_of_100_simulations) {
  struct Planted {
    const char* mode;
    std::size_t law;  ///< of the fits
    double a, b, noise;
  };
  const Planted cases[] = {{"strong", 0, 0.05, 0, 0.02},      {"strong", 1, 0.03, 0.002, 0.02},
                           {"weak", 1, 0.05, 0, 0.02},        {"strong", 0, 0.2, 0, 0.05},
                           {"strong", 1, 0.02, 0.0005, 0.03}, {"weak", 1, 0.05, 0.0005, 0.02}};
  const int trials = testing_support::trials(200);
  const double fewest = 0.95 * trials;
  for (const auto& planted : cases) {
    int parameters = 0, forecasts = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const auto law = [&](int n) { return usl(planted.a, planted.b, n); };
      const auto scaling = judged(planted.mode, runs_of(law, {1, 2, 4, 8, 16}, planted.noise,
                                                        stats::derive_seed(7, static_cast<std::uint64_t>(trial))));
      const auto& fit = scaling.fits[planted.law];
      const double truth[] = {planted.a, planted.b};
      bool held = !fit.parameters.empty();
      for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
        const auto& interval = *fit.parameters[i].second.interval;
        held = held && interval.low <= truth[i] && truth[i] <= interval.high;
      }
      parameters += held ? 1 : 0;
      if (scaling.forecasts.empty()) continue;
      const auto& interval = *scaling.forecasts[1].speed_up.interval;
      forecasts += interval.low <= law(64) * (1 + 1e-9) && law(64) <= interval.high * (1 + 1e-9) ? 1 : 0;
    }
    EXPECT_GE(parameters, fewest) << planted.mode << " " << planted.a;
    EXPECT_GE(forecasts, fewest) << planted.mode << " " << planted.a;
  }
}

TEST(Scaling, with_two_numbers_says_which_law_lacks_points) {
  Scaling scaling;
  scaling.mode = "weak";
  scaling.worker = "rank";
  judge_scaling({{.workers = 1, .seconds = 1}, {.workers = 2, .seconds = 1.1, .work = 2}}, scaling);
  EXPECT_EQ(scaling.fits[0].law, "Gustafson");
  EXPECT_NE(scaling.fits[0].reason.find("not enough points"), std::string::npos);
  EXPECT_FALSE(scaling.points[1].efficiency.interval);
  EXPECT_NEAR(scaling.points[1].efficiency.value, 1 / 1.1, 1e-9);
  EXPECT_EQ(to_json(scaling)["points"].size(), 2U);
}

TEST(Scaling, names_loading_communication_and_idle_gpus) {
  Scaling scaling;
  scaling.mode = "strong";
  scaling.worker = "GPU";
  judge_scaling({{.workers = 1, .seconds = 1, .parts = {{"loading", 0.1}, {"communication", 0.0}, {"step", 1.0}}},
                 {.workers = 2,
                  .seconds = 0.8,
                  .parts = {{"loading", 0.2}, {"communication", 0.4}, {"step", 0.8}, {"utilization", 0.7}}}},
                scaling);
  ASSERT_EQ(scaling.causes.size(), 3U);
  EXPECT_NE(scaling.causes[0].find("data loading"), std::string::npos);
  EXPECT_NE(scaling.causes[1].find("communication: 50"), std::string::npos) << scaling.causes[1];
  EXPECT_NE(scaling.causes[2].find("utilization: 70"), std::string::npos);
}

TEST(Scaling, splits_the_lost_efficiency_without_a_rest_that_is_forgotten) {
  // A step of 100 ms with one GPU; with two 60 ms for half the work: 10 ms of it communication, 5 ms more for the host.
  const StepShares one{.step_s = 0.1, .host_s = 0.01, .rest_s = 0.09, .compute_s = 0.09, .ranks = 1};
  const StepShares two{.step_s = 0.065,
                       .communication_s = 0.01,
                       .host_s = 0.01,
                       .rest_s = 0.045,
                       .compute_s = 0.045,
                       .utilization = 0.7,
                       .ranks = 2};
  Scaling scaling;
  scaling.mode = "strong";
  scaling.worker = "GPU";
  judge_scaling({{.workers = 1, .seconds = 1.0}, {.workers = 2, .seconds = 0.65}}, scaling,
                {{.workers = 1, .shares = one, .problem = {}}, {.workers = 2, .shares = two, .problem = {}}});
  EXPECT_FALSE(scaling.points[0].loss);
  ASSERT_TRUE(scaling.points[1].loss);
  const auto& loss = *scaling.points[1].loss;
  EXPECT_NEAR(loss.communication, 10.0 / 65, 1e-9);
  EXPECT_NEAR(loss.host, 5.0 / 65, 1e-9);
  EXPECT_NEAR(loss.rest, 0, 1e-9);
  EXPECT_NEAR(loss.communication + loss.imbalance + loss.loading + loss.host + loss.rest,
              1 - scaling.points[1].efficiency.value, 1e-12);
  ASSERT_EQ(scaling.causes.size(), 2U);
  EXPECT_NE(scaling.causes[1].find("utilization: 70"), std::string::npos);
}

TEST(Scaling, a_profile_that_could_not_be_read_is_told_and_loses_nothing) {
  Scaling scaling;
  scaling.mode = "strong";
  judge_scaling({{.workers = 1, .seconds = 1}, {.workers = 2, .seconds = 0.5}}, scaling,
                {{.workers = 2, .shares = {}, .problem = "nothing was recorded"}});
  EXPECT_EQ(scaling.points[1].profile_problem, "nothing was recorded");
  EXPECT_FALSE(scaling.points[1].loss);
  EXPECT_EQ(to_json(scaling)["points"][1]["profile_problem"], "nothing was recorded");
}

TEST(Scaling, tells_energy_of_a_unit_of_work_and_memory) {
  Scaling scaling;
  scaling.mode = "strong";
  scaling.worker = "GPU";
  std::vector<ScalingRun> runs;
  for (int round = 0; round < 3; ++round) {
    runs.push_back({.workers = 1, .round = round, .seconds = 10, .work = 200, .peak_memory_bytes = 1e9 + round});
    runs.back().gpu_memory_bytes = 8e9;
    runs.back().joules = 3000 + 100 * round;
    // What the command tells counts: 30 units a second for 6 s are 180, whatever --work says.
    runs.push_back({.workers = 2, .round = round, .seconds = 6, .work = 200, .throughput = 30});
    if (round > 0) runs.back().joules = 3600;
  }
  judge_scaling(runs, scaling);
  const auto& one = scaling.points[0];
  ASSERT_TRUE(one.energy_per_work_j && one.work_per_joule && one.peak_memory_bytes && one.gpu_memory_bytes);
  EXPECT_DOUBLE_EQ(one.energy_per_work_j->value, 3100.0 / 200);
  EXPECT_DOUBLE_EQ(*one.work_per_joule, 200 / 3100.0);
  EXPECT_DOUBLE_EQ(*one.peak_memory_bytes, 1e9 + 1);
  EXPECT_DOUBLE_EQ(*one.gpu_memory_bytes, 8e9);
  EXPECT_EQ(one.joules, (std::vector<double>{3000, 3100, 3200}));
  const auto& two = scaling.points[1];
  ASSERT_TRUE(two.energy_per_work_j);
  EXPECT_DOUBLE_EQ(two.energy_per_work_j->value, 3600.0 / 180);
  EXPECT_TRUE(two.joules.empty()) << "one run has none";
  EXPECT_FALSE(two.peak_memory_bytes || two.gpu_memory_bytes);
  const auto json = to_json(scaling)["points"];
  EXPECT_DOUBLE_EQ(json[0]["energy_per_work"]["value"].get<double>(), 15.5);
  EXPECT_DOUBLE_EQ(json[0]["gpu_memory"].get<double>(), 8e9);
  EXPECT_FALSE(json[1].contains("gpu_memory"));
}

TEST(Scaling, usual_bands_are_those_of_2_4_and_8_gpus) {
  using Band = std::pair<double, double>;
  EXPECT_EQ(usual_efficiency(2), (Band{0.90, 0.97}));
  EXPECT_EQ(usual_efficiency(4), (Band{0.87, 0.95}));
  EXPECT_EQ(usual_efficiency(8), (Band{0.85, 0.92}));
  for (const int workers : {1, 3, 16}) EXPECT_FALSE(usual_efficiency(workers)) << workers;
  const auto stands = [](int workers, double efficiency) {
    Scaling scaling;
    scaling.mode = "strong";
    scaling.worker = "GPU";
    judge_scaling({{.workers = 1, .seconds = 1}, {.workers = workers, .seconds = 1 / (efficiency * workers)}}, scaling);
    return scaling.points[1].usual;
  };
  EXPECT_EQ(stands(2, 0.89), "below the usual 90-97 %");
  EXPECT_EQ(stands(2, 0.91), "within the usual 90-97 %");
  EXPECT_EQ(stands(4, 0.94), "within the usual 87-95 %");
  EXPECT_EQ(stands(8, 0.93), "above the usual 85-92 %");
  EXPECT_EQ(stands(16, 0.93), "");
}

TEST(Scaling, grades_end_where_they_should) {
  EXPECT_STREQ(efficiency_grade(0.95), "excellent");
  EXPECT_STREQ(efficiency_grade(0.9), "good");
  EXPECT_STREQ(efficiency_grade(0.7), "good");
  EXPECT_STREQ(efficiency_grade(0.5), "moderate");
  EXPECT_STREQ(efficiency_grade(0.49), "poor");
  EXPECT_EQ(grade_of({0.95, Interval{0.93, 0.97, 0.95}}), "excellent");
  EXPECT_EQ(grade_of({0.95, Interval{0.65, 1.2, 0.95}}), "moderate to excellent");
  EXPECT_EQ(grade_of({0.95, std::nullopt}), "excellent");
}

TEST(Scaling, order_has_every_number_once_a_round) {
  for (auto round : scaling_order({1, 2, 4}, 10, 3)) {
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, (std::vector<int>{1, 2, 4}));
  }
}

}  // namespace
}  // namespace warpmark::validate
