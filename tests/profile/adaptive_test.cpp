// When the recorder records a program of which it was told nothing: of one second, of four, of a minute, with a
// start-up that repeats things as well, and one that never repeats anything.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "profile/module/launch_history.h"
#include "profile/module/schedule.h"

namespace warpmark::profile::module {
namespace {

/// What a program launches: the number of the kernel that is its n-th launch at time t.
using Launcher = std::function<std::uint64_t(std::uint64_t n, double t)>;

struct Part {
  double until_s = 0;
  double per_second = 0;  ///< launches
  Launcher what;
};

struct Recorded {
  double first_s = -1;  ///< the first recording began, and the last one
  double last_s = -1;
  double kept_s = 0;                         ///< length of the last one
  std::int64_t launched_while_recorded = 0;  ///< in the last one
  int recordings = 0;
  bool done = false;
  std::int64_t step_launches = 0;
  Inflation inflation;
  int repeated = 0;
};

/// As the recorder does it: looks every 20 ms.
Recorded play(const std::vector<Part>& program, const ScheduleOptions& options = {}, double slower = 1) {
  Schedule schedule(options);
  StepFinder finder;
  auto history = std::make_unique<LaunchHistory>();
  Recorded recorded;
  double due = 0;
  std::uint64_t n = 0;
  const Part* last = nullptr;
  for (double t = 0; t < program.back().until_s; t += 0.02) {
    const bool records = schedule.phase() == Phase::recording || schedule.phase() == Phase::probing;
    std::size_t at = 0;
    while (program[at].until_s <= t) ++at;
    if (last != &program[at]) n = 0;
    last = &program[at];
    due += program[at].per_second * 0.02 / (records ? slower : 1);
    const double share = 0.02 / due;
    for (double k = 0; due >= 1; due -= 1) {
      if (schedule.phase() == Phase::recording) ++recorded.launched_while_recorded;
      history->add(program[at].what(n++, t), static_cast<std::int64_t>((t + share * k++) * 1e9));
    }
    if (schedule.phase() == Phase::recording) recorded.kept_s += 0.02;
    finder.probe(static_cast<std::int64_t>(t * 1e9) + 1, *history, 0, records);
    Progress progress = finder.progress();
    progress.elapsed_s = t;
    const auto since_ns = static_cast<std::int64_t>(schedule.window_begin_s() * 1e9);
    progress.step_s = history->step_ns(progress.step_launches, since_ns) * 1e-9;
    if (!schedule.advance(progress) || schedule.phase() != Phase::recording) continue;
    if (recorded.first_s < 0) recorded.first_s = t;
    recorded.last_s = t;
    recorded.kept_s = 0;
    recorded.launched_while_recorded = 0;
    ++recorded.recordings;
  }
  recorded.done = schedule.phase() == Phase::done;
  recorded.step_launches = finder.progress().step_launches;
  recorded.inflation = schedule.inflation();
  recorded.repeated = schedule.repeated();
  return recorded;
}

std::uint64_t unlike(std::uint64_t n, double) { return n * n * 2654435761U % 1000003; }
/// Steps of `length` launches, whose layers are alike.
Launcher steps_of(std::uint64_t length) {
  return [length](std::uint64_t n, double) {
    const std::uint64_t place = n % length;
    return place < 10 || place + 10 > length ? 5000 + place : 7000 + place % 12;
  };
}
Part start_up(double until_s) { return {until_s, 800, unlike}; }

TEST(Adaptive, program_of_one_second_gives_its_last_part) {
  const auto recorded = play({start_up(0.3), {1.0, 40'000, steps_of(600)}});  // 15 ms a step
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_GT(recorded.first_s, 0.3) << "start-up is no step";
  EXPECT_GT(recorded.kept_s, 0.2);
  EXPECT_EQ(recorded.step_launches, 600);
}

TEST(Adaptive, program_of_four_seconds_gives_two_of_steady_steps) {
  const auto recorded = play({start_up(1.2), {4.0, 40'000, steps_of(600)}});
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_GT(recorded.first_s, 1.2);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
}

TEST(Adaptive, program_of_a_minute_tells_what_recording_costs) {
  const auto recorded = play({start_up(4), {60, 40'000, steps_of(600)}}, {}, 1.1);
  EXPECT_EQ(recorded.recordings, 2) << "start-up lasts longer than patience";
  EXPECT_GT(recorded.last_s, 4);
  EXPECT_LT(recorded.last_s, 7);
  EXPECT_TRUE(recorded.done);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
  EXPECT_EQ(recorded.inflation.windows, 5);
  EXPECT_NEAR(recorded.inflation.typical, 1.1 * 1.04 - 1, 0.02) << "what CUPTI leaves behind could not be told";
  EXPECT_TRUE(recorded.inflation.residual_assumed);
  EXPECT_NEAR(recorded.inflation.low, 0.1, 0.02);
}

TEST(Adaptive, program_that_compiles_for_long_is_recorded_when_it_steps) {
  const auto recorded = play({start_up(0.5), {100, 0, unlike}, {105, 40'000, steps_of(600)}});
  EXPECT_EQ(recorded.recordings, 1) << "there was nothing to record";
  EXPECT_GT(recorded.last_s, 100);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
}

TEST(Adaptive, program_that_compiles_while_it_is_recorded_is_recorded_when_it_works) {
  const auto recorded = play({start_up(7.5), {100, 0, unlike}, {103, 800, unlike}});
  EXPECT_EQ(recorded.recordings, 1) << "it repeats nothing";
  EXPECT_LT(recorded.first_s, 7.5);
  const auto silent = play({start_up(2.9), {100, 0, unlike}, {103, 800, unlike}, {130, 0, unlike}});
  EXPECT_GT(silent.launched_while_recorded, 1500);
}

TEST(Adaptive, what_was_recorded_is_kept_if_a_program_launches_nothing_any_more) {
  for (double ends = 6; ends < 16; ends += 0.2) {
    const auto recorded = play({{ends, 800, unlike}, {ends + 30, 0, unlike}});
    EXPECT_GT(recorded.launched_while_recorded, 0) << ends;
  }
}

TEST(Adaptive, usual_start_up_is_waited_for) {
  const auto recorded = play({start_up(1.8), {60, 40'000, steps_of(600)}}, {}, 1.1);
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_GT(recorded.first_s, 1.8 + 0.25) << "0.25 s without recording at least";
  EXPECT_LT(recorded.first_s, 4);
  EXPECT_NEAR(recorded.inflation.low, 0.1, 0.02);
  EXPECT_NEAR(recorded.inflation.high, 1.1 * 1.06 - 1, 0.02);
}

TEST(Adaptive, start_up_that_repeats_one_kernel_is_not_taken_for_steps) {
  const auto one = [](std::uint64_t, double) { return std::uint64_t{7}; };
  // Parameters are initialized for 0.6 s, then something is done on the host, then the steps begin.
  const auto recorded = play({{0.6, 2000, one}, {1.0, 0, one}, {30, 20'000, steps_of(600)}});
  EXPECT_GE(recorded.recordings, 1);
  EXPECT_GT(recorded.last_s, 1.0);
  EXPECT_EQ(recorded.step_launches, 600);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
}

TEST(Adaptive, a_burst_of_one_kernel_is_not_confirmed_by_silence) {
  const auto one = [](std::uint64_t, double) { return std::uint64_t{7}; };
  const auto recorded = play({{0.1, 5000, one}, {1.5, 0, one}});
  EXPECT_EQ(recorded.recordings, 0);
}

TEST(Adaptive, short_steps_after_a_long_start_up_are_found) {
  const auto recorded =
      play({{1.5, 20'000, unlike}, {20, 1500, [](std::uint64_t, double) { return std::uint64_t{3}; }}});
  EXPECT_EQ(recorded.step_launches, 1) << "a graph that is replayed";
  EXPECT_GT(recorded.last_s, 1.5);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
}

TEST(Adaptive, seldom_steps_of_one_launch_after_a_long_start_up_are_found) {
  const auto one = [](std::uint64_t, double) { return std::uint64_t{3}; };
  const auto recorded = play({{3, 5000, unlike}, {12, 40, one}});  // a compiled step that takes 25 ms
  EXPECT_EQ(recorded.step_launches, 1);
  EXPECT_GT(recorded.last_s, 3);
  EXPECT_LT(recorded.last_s, 8);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
}

TEST(Adaptive, program_that_repeats_nothing_is_recorded_after_two_seconds_and_when_it_is_older) {
  const auto recorded = play({{30, 800, unlike}});
  EXPECT_EQ(recorded.recordings, 2);
  EXPECT_GT(recorded.first_s, 2);
  EXPECT_LT(recorded.first_s, 3.2);
  EXPECT_GT(recorded.last_s, 8);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
  EXPECT_FALSE(recorded.done) << "steps may still come";
  EXPECT_TRUE(play({{70, 800, unlike}}).done);
}

TEST(Adaptive, later_phases_do_not_replace_what_was_recorded_of_steady_steps) {
  const auto recorded = play({start_up(1), {12, 40'000, steps_of(600)}, {30, 40'000, steps_of(220)}});
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_LT(recorded.last_s, 4);
}

TEST(Adaptive, evaluation_before_the_training_is_not_what_is_recorded) {
  const auto recorded = play({start_up(0.5), {8, 13'000, steps_of(200)}, {40, 13'000, steps_of(600)}});
  EXPECT_EQ(recorded.recordings, 2) << "steps of three times as many launches followed";
  EXPECT_GT(recorded.last_s, 8);
  EXPECT_NEAR(recorded.kept_s, 2, 0.1);
  EXPECT_EQ(recorded.step_launches, 600);
}

TEST(Adaptive, steps_are_counted_from_the_first_steady_one) {
  const auto recorded = play({start_up(1), {20, 40'000, steps_of(600)}}, {.recorded_steps = 20});
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_NEAR(recorded.kept_s, 21 * 0.015, 0.05);
}

TEST(Adaptive, recording_to_the_end_leaves_start_up_out) {
  const auto recorded = play({start_up(1), {10, 40'000, steps_of(600)}}, {.duration_s = 0});
  EXPECT_EQ(recorded.recordings, 1);
  EXPECT_GT(recorded.first_s, 1);
  EXPECT_NEAR(recorded.first_s + recorded.kept_s, 10, 0.1);
}

}  // namespace
}  // namespace warpmark::profile::module
