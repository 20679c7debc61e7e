// When the recorder records, what it says that this cost, and how it finds a program's steps.
#include "profile/module/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "profile/module/launch_history.h"

namespace warpmark::profile::module {
namespace {

struct Played {
  std::vector<Phase> phases;
  double recorded_s = 0;
  std::int64_t recorded_launches = 0;
};

/// Runs a program that launches `rate(phase, time)` times a second, until the schedule is done or two minutes have
/// passed.
Played play(Schedule& schedule, const std::function<double(Phase, double)>& rate, std::int64_t step_launches = 0) {
  Played played{{schedule.phase()}};
  double launches = 0;
  for (double t = 0; schedule.phase() != Phase::done && t < 120; t += 0.01) {
    const auto count = static_cast<std::int64_t>(launches);
    if (schedule.advance({t, count, step_launches, step_launches > 0 ? count / step_launches : 0})) {
      played.phases.push_back(schedule.phase());
    }
    const double more = rate(schedule.phase(), t) * 0.01;
    launches += more;
    if (schedule.phase() == Phase::recording) {
      played.recorded_s += 0.01;
      played.recorded_launches = static_cast<std::int64_t>(launches) - count + played.recorded_launches;
    }
  }
  return played;
}

bool records(Phase phase) { return phase == Phase::recording || phase == Phase::probing; }

TEST(Schedule, alternates_with_and_without_recording_and_tells_what_it_cost) {
  Schedule schedule({.delay_s = 5, .duration_s = 2});
  const auto played = play(schedule, [](Phase phase, double) { return records(phase) ? 800 : 1000; });
  using enum Phase;
  EXPECT_THAT(played.phases, testing::ElementsAre(waiting, plain, recording, plain, probing, plain, probing, plain,
                                                  probing, plain, probing, plain, done));
  EXPECT_NEAR(played.recorded_s, 2, 0.05);
  EXPECT_NEAR(schedule.rate(Phase::plain), 1000, 20);
  EXPECT_NEAR(schedule.rate(Phase::recording), 800, 20);
  EXPECT_NEAR(schedule.inflation().typical, 0.25, 0.03);
  EXPECT_EQ(schedule.inflation().windows, 5);
  EXPECT_LE(schedule.inflation().low, schedule.inflation().typical);
  EXPECT_GE(schedule.inflation().high, schedule.inflation().typical);
}

TEST(Schedule, is_not_misled_by_one_disturbed_window_or_a_drift) {
  Schedule schedule({.delay_s = 5, .duration_s = 2});
  // Slower and slower, and something else disturbs the main window.
  play(schedule, [](Phase phase, double t) {
    const double slow = phase == Phase::recording ? 0.5 : 1;
    return (records(phase) ? 900 : 1000) * slow * (1 - t / 100);
  });
  EXPECT_NEAR(schedule.inflation().typical, 0.11, 0.07) << "what drifts around the first window is taken to stay";
  EXPECT_GT(schedule.inflation().high, 0.9);
}

TEST(Schedule, counts_what_stays_after_the_first_recording) {
  Schedule schedule({.delay_s = 5, .duration_s = 2});
  bool recorded = false;
  play(schedule, [&](Phase phase, double) {
    recorded = recorded || phase == Phase::recording;
    return records(phase) ? 900 : recorded ? 960 : 1000;
  });
  EXPECT_NEAR(schedule.inflation().typical, 1000.0 / 900 - 1, 0.02);
  EXPECT_NEAR(schedule.inflation().residual, 1000.0 / 960 - 1, 0.02);
  EXPECT_LE(schedule.inflation().low, 960.0 / 900 - 1 + 0.02);
}

TEST(Schedule, without_a_duration_records_from_the_delay_to_the_end) {
  Schedule schedule({.delay_s = 0, .duration_s = 0});
  EXPECT_TRUE(schedule.advance({0, 0, 0, 0}));
  EXPECT_EQ(schedule.phase(), Phase::recording);
  EXPECT_FALSE(schedule.advance({1e6, 100, 0, 0}));
  EXPECT_LT(schedule.inflation().typical, 0) << "there is nothing to compare with";
}

TEST(Schedule, records_the_part_that_the_program_marks) {
  Schedule schedule({.delay_s = 0, .duration_s = 2, .captures = true});
  EXPECT_FALSE(schedule.counts_steps());
  EXPECT_FALSE(schedule.advance({.elapsed_s = 50}));
  EXPECT_TRUE(schedule.advance({.elapsed_s = 51, .part_begun = true}));
  EXPECT_EQ(schedule.phase(), Phase::recording);
  EXPECT_FALSE(schedule.advance({.elapsed_s = 90, .part_begun = true})) << "however long it is";
  EXPECT_TRUE(schedule.advance({.elapsed_s = 91, .part_begun = true, .part_ended = true}));
  EXPECT_EQ(schedule.phase(), Phase::done);
  EXPECT_LT(schedule.inflation().typical, 0) << "nothing to compare with";
}

TEST(Schedule, does_not_tell_a_cost_from_a_few_launches) {
  Schedule schedule({.delay_s = 0, .duration_s = 1});
  play(schedule, [](Phase, double) { return 10; });
  EXPECT_EQ(schedule.phase(), Phase::done);
  EXPECT_LT(schedule.inflation().typical, 0);
}

TEST(Schedule, counts_steps_when_asked) {
  Schedule schedule({.delay_s = 5, .duration_s = 2, .warmup_steps = 30, .recorded_steps = 10});
  const auto played = play(
      schedule, [](Phase, double) { return 1000; }, 100);
  EXPECT_NEAR(static_cast<double>(played.recorded_launches), 11 * 100, 20) << "ten whole ones and a cut one";
}

TEST(Schedule, takes_the_times_for_programs_without_steps) {
  Schedule schedule({.delay_s = 5, .duration_s = 3, .warmup_steps = 0, .recorded_steps = 10});
  EXPECT_NEAR(play(schedule, [](Phase, double) { return 1000; }).recorded_s, 3, 0.05);
  EXPECT_TRUE(schedule.steps_missed());
}

TEST(Schedule, gives_up_warming_up_by_steps_after_a_minute) {
  Schedule schedule({.delay_s = 5, .duration_s = 2, .warmup_steps = 30});
  EXPECT_FALSE(schedule.advance({.elapsed_s = 59}));
  EXPECT_TRUE(schedule.advance({.elapsed_s = 61}));
  EXPECT_TRUE(schedule.steps_missed());
}

TEST(Schedule, gives_windows_room_for_a_few_long_steps) {
  Schedule schedule({.delay_s = 1, .duration_s = 2});
  const auto played = play(
      schedule, [](Phase phase, double) { return records(phase) ? 80 : 100; }, 200);  // of 2 s
  EXPECT_EQ(played.phases.back(), Phase::done);
  EXPECT_NEAR(schedule.inflation().typical, 0.25, 0.03);
}

/// Steps of `layers` equal layers between a beginning and an end of their own.
std::vector<std::uint64_t> launches_of(int steps, int layers, int start_up) {
  std::vector<std::uint64_t> launches;
  for (int i = 0; i < start_up; ++i) launches.push_back(static_cast<std::uint64_t>(i * 7919 % 1013));
  for (int step = 0; step < steps; ++step) {
    for (std::uint64_t i = 0; i < 20; ++i) launches.push_back(5000 + i);
    for (int layer = 0; layer < layers; ++layer) {
      for (std::uint64_t i = 0; i < 12; ++i) launches.push_back(6000 + i % 7);
    }
    for (std::uint64_t i = 0; i < 30; ++i) launches.push_back(7000 + i % 3);
  }
  return launches;
}

TEST(RepeatedLength, is_that_of_the_steps_and_not_of_their_layers) {
  EXPECT_EQ(repeated_length(launches_of(20, 24, 500)), 20 + 24 * 12 + 30);
  EXPECT_EQ(repeated_length(launches_of(40, 2, 0)), 20 + 2 * 12 + 30);
}

TEST(RepeatedLength, overlooks_a_rare_difference) {
  auto launches = launches_of(20, 24, 0);
  for (std::size_t i = 50; i < launches.size(); i += 211) launches[i] = 1;
  EXPECT_EQ(repeated_length(launches), 338);
}

TEST(RepeatedLength, is_that_of_a_step_that_is_nearly_all_layers) {
  std::vector<std::uint64_t> launches;  // of a decoder: 80 layers of 30 kernels, then a few for the next token
  for (int step = 0; step < 12; ++step) {
    for (int layer = 0; layer < 80; ++layer) {
      for (std::uint64_t i = 0; i < 30; ++i) launches.push_back(100 + i);
    }
    for (std::uint64_t i = 0; i < 5; ++i) launches.push_back(900 + i);
  }
  EXPECT_EQ(repeated_length(launches), 80 * 30 + 5);
}

TEST(RepeatedLength, is_one_for_a_program_that_repeats_one_kernel) {
  EXPECT_EQ(repeated_length(std::vector<std::uint64_t>(500, 7)), 1);
}

TEST(RepeatedLength, is_zero_where_nothing_repeats) {
  EXPECT_EQ(repeated_length({}), 0);
  EXPECT_EQ(repeated_length(launches_of(3, 24, 0)), 0) << "too few to be sure";
  std::vector<std::uint64_t> launches;
  for (std::uint64_t i = 0; i < 3000; ++i) launches.push_back(i * i % 2741);
  EXPECT_EQ(repeated_length(launches), 0);
}

TEST(StepFinder, counts_steps_by_kernels_once_they_keep_repeating) {
  auto history = std::make_unique<LaunchHistory>();
  StepFinder finder;
  finder.probe(0, *history, 0, false);
  EXPECT_EQ(finder.progress().step_launches, 0);
  EXPECT_STREQ(finder.found_by(), "");
  std::int64_t second = 1;
  for (; second <= 3; ++second) {
    EXPECT_EQ(finder.progress().step_launches, 0) << "not yet sure";
    for (const auto launch : launches_of(20, 2, 0)) history->add(launch, 0);
    finder.probe(second * 1'000'000'000, *history, 0, false);
  }
  EXPECT_EQ(finder.progress().step_launches, 74);
  EXPECT_EQ(finder.progress().steps, 3 + 2 * 20);
  for (const auto launch : launches_of(10, 2, 0)) history->add(launch, 0);
  finder.probe(second * 1'000'000'000, *history, 0, true);
  EXPECT_EQ(finder.progress().steps, 3 + 2 * 20 + 10);
  EXPECT_STREQ(finder.found_by(), "kernels");
}

TEST(StepFinder, is_not_misled_by_a_start_that_repeats_one_kernel) {
  auto history = std::make_unique<LaunchHistory>();
  StepFinder finder;
  for (int i = 0; i < 300; ++i) history->add(7, 0);  // setting parameters
  finder.probe(1'000'000'000, *history, 0, false);
  EXPECT_EQ(finder.progress().steps, 0);
  for (std::int64_t second = 2; second < 6; ++second) {
    for (const auto launch : launches_of(20, 2, 0)) history->add(launch, 0);
    finder.probe(second * 1'000'000'000, *history, 0, false);
  }
  EXPECT_EQ(finder.progress().step_launches, 74);
  EXPECT_LE(finder.progress().steps, 80);
}

TEST(StepFinder, believes_the_ranges_that_the_program_names) {
  auto history = std::make_unique<LaunchHistory>();
  StepFinder finder;
  for (int step = 0; step < 20; ++step) {
    for (std::uint64_t i = 0; i < 50; ++i) history->add(i * static_cast<std::uint64_t>(step + 7) % 97, 0);
    finder.probe(step * 1'000'000'000LL, *history, step + 1, false);
  }
  EXPECT_EQ(finder.progress().steps, 20);
  EXPECT_EQ(finder.progress().step_launches, 50);
  EXPECT_STREQ(finder.found_by(), "ranges");
}

TEST(LaunchHistory, tells_the_usual_time_of_a_step) {
  auto history = std::make_unique<LaunchHistory>();
  EXPECT_EQ(history->step_ns(10, 0), 0);
  std::int64_t now = 0;
  for (int step = 0; step < 100; ++step) {
    for (std::uint64_t i = 0; i < 10; ++i)
      history->add(i, now += step % 9 == 0 ? 90'000 : 1'000);  // a slow one now and then
  }
  EXPECT_NEAR(history->step_ns(10, 0), 10'000, 1);
  EXPECT_EQ(history->step_ns(10, now - 5'000), 0) << "too few since then";
  EXPECT_EQ(history->step_ns(0, 0), 0);
  for (std::uint64_t i = 0; i < 100'000; ++i) history->add(i, now += 2'000);
  EXPECT_NEAR(history->step_ns(10, now - 10'000'000), 20'000, 1) << "by those that are kept";
}

TEST(LaunchHistory, keeps_the_last_ones_in_order) {
  auto history = std::make_unique<LaunchHistory>();
  for (std::uint64_t i = 0; i < 100'000; ++i) history->add(i, 0);
  const auto recent = history->recent();
  EXPECT_EQ(history->count(), 100'000);
  ASSERT_FALSE(recent.empty());
  EXPECT_EQ(recent.back(), 99'999U);
  EXPECT_EQ(recent.front(), 100'000U - recent.size());
}

}  // namespace
}  // namespace warpmark::profile::module
