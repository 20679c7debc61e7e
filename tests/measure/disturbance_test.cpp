#include "measure/disturbance.h"

#include <gtest/gtest.h>

namespace warpmark::measure {
namespace {

using device::Conditions;

Environment judge(const char* backend, const Conditions& before, const Conditions& after, double elapsed_s = 1.0) {
  DeviceInfo device;
  device.backend = backend;
  return judge_environment(
      {.device = device, .before = before, .after = after, .elapsed_s = elapsed_s, .host_cpus = 2});
}

TEST(Disturbance, finds_nothing_on_a_quiet_machine) {
  const Conditions quiet{{{"steal_time", "s", 1.0}, {"busy_time", "s", 5.0}, {"process_time", "s", 1.0}}, {}, {}};
  EXPECT_TRUE(judge("cpu", quiet, quiet).disturbances.empty());
}

TEST(Disturbance, measures_steal_as_a_share_of_the_host) {
  const auto environment = judge("cpu", {{{"steal_time", "s", 1.0}}, {}, {}}, {{{"steal_time", "s", 1.2}}, {}, {}});
  ASSERT_EQ(environment.disturbances.size(), 1U);
  EXPECT_EQ(environment.disturbances[0].cause, "the hypervisor took 10.0 % of the CPU time");
  EXPECT_TRUE(environment.disturbances[0].invalidates);
  const auto on_gpu = judge("cuda", {{{"steal_time", "s", 1.0}}, {}, {}}, {{{"steal_time", "s", 1.2}}, {}, {}});
  EXPECT_FALSE(on_gpu.disturbances.at(0).invalidates);
}

TEST(Disturbance, tells_our_own_load_from_that_of_others) {
  const Conditions before{{{"busy_time", "s", 10.0}, {"process_time", "s", 1.0}}, {}, {}};
  const Conditions own{{{"busy_time", "s", 12.0}, {"process_time", "s", 3.0}}, {}, {}};
  const Conditions others{{{"busy_time", "s", 12.0}, {"process_time", "s", 2.0}}, {}, {}};
  EXPECT_TRUE(judge("cpu", before, own).disturbances.empty());
  EXPECT_EQ(judge("cpu", before, others).disturbances.at(0).cause, "other processes used 50 % of the CPU time");
}

TEST(Disturbance, does_not_read_shares_out_of_clock_ticks) {
  const auto environment =
      judge("cpu", {{{"steal_time", "s", 1.0}}, {}, {}}, {{{"steal_time", "s", 1.01}}, {}, {}}, 0.05);
  EXPECT_TRUE(environment.disturbances.empty());
}

TEST(Disturbance, sees_the_load_of_others_in_a_round_of_a_few_ticks) {
  const Conditions before{{{"busy_time", "s", 10.0}, {"process_time", "s", 1.0}}, {}, {}};
  const Conditions after{{{"busy_time", "s", 10.16}, {"process_time", "s", 1.08}}, {}, {}};
  const auto environment = judge("cpu", before, after, 0.08);
  ASSERT_EQ(environment.disturbances.size(), 1U);
  EXPECT_EQ(environment.disturbances[0].cause, "other processes used 50 % of the CPU time");
  EXPECT_TRUE(environment.disturbances[0].invalidates);
}

TEST(Disturbance, takes_the_shares_of_a_short_round_from_a_longer_time_that_ends_with_it) {
  HostHistory history;
  history.note(0, {{{"busy_time", "s", 10.0}, {"process_time", "s", 1.0}}, {}, {}});
  history.note(100'000'000, {{{"busy_time", "s", 1e9}}, {}, {}});  // too soon after the first
  EXPECT_EQ(history.before(150'000'000), nullptr);
  const auto* earlier = history.before(1'000'000'000);
  ASSERT_NE(earlier, nullptr);
  EXPECT_EQ(earlier->time_ns, 0);

  DeviceInfo device;
  device.backend = "cpu";
  const Conditions now{{{"busy_time", "s", 11.2}, {"process_time", "s", 1.2}}, {}, {}};
  const auto environment = judge_environment({.device = device,
                                              .before = now,
                                              .after = now,
                                              .elapsed_s = 50e-6,
                                              .host_cpus = 2,
                                              .samples = 30,
                                              .host_before = &earlier->conditions,
                                              .host_elapsed_s = 1.0});
  ASSERT_EQ(environment.disturbances.size(), 1U);
  EXPECT_EQ(environment.disturbances[0].cause, "other processes used 50 % of the CPU time");
  EXPECT_TRUE(environment.disturbances[0].invalidates);
}

TEST(HostHistory, keeps_the_latest_moment_that_is_long_enough_ago) {
  HostHistory history;
  EXPECT_EQ(history.before(1'000'000'000), nullptr);
  for (const std::int64_t time_ns : {0LL, 300'000'000LL, 600'000'000LL}) history.note(time_ns, {});
  EXPECT_EQ(history.before(700'000'000)->time_ns, 300'000'000);
  EXPECT_EQ(history.before(900'000'000)->time_ns, 600'000'000);
}

/// A team of two, of which the second thread waited `waited_s` and was given a CPU `scheduled` times.
Environment judge_team(double waited_s, std::int64_t scheduled, double elapsed_s, std::int64_t samples,
                       const char* backend = "cpu", bool host_clock = false) {
  DeviceInfo device;
  device.backend = backend;
  Conditions before, after;
  before.threads = {{11, 5.0, 1000}, {12, 7.0, 2000}};
  after.threads = {{11, 5.0, 1000}, {12, 7.0 + waited_s, 2000 + scheduled}};
  return judge_environment({.device = device,
                            .before = before,
                            .after = after,
                            .elapsed_s = elapsed_s,
                            .host_cpus = 64,
                            .samples = samples,
                            .host_clock = host_clock});
}

TEST(Disturbance, distrusts_what_was_measured_while_one_thread_waited_for_a_cpu) {
  // Each launch of the team took one time slice of the program beside it.
  const auto slices = judge_team(0.057, 10, 0.08, 10);
  ASSERT_EQ(slices.disturbances.size(), 1U);
  EXPECT_EQ(slices.disturbances[0].id, "cpu_wait");
  EXPECT_EQ(slices.disturbances[0].cause, "a thread of the measurement waited 70 % of the time for a CPU");
  EXPECT_TRUE(slices.disturbances[0].invalidates);
  EXPECT_TRUE(judge_team(0.5, 100, 1.0, 1000).disturbances.at(0).invalidates) << "however short the samples are";
  const auto little = judge_team(0.03, 20, 1.0, 1000);
  ASSERT_EQ(little.disturbances.size(), 1U);
  EXPECT_FALSE(little.disturbances[0].invalidates) << "recorded, and the result stands";
  EXPECT_TRUE(judge_team(0.005, 20, 1.0, 1000).disturbances.empty());
}

TEST(Disturbance, does_not_take_waking_up_for_waiting) {
  EXPECT_TRUE(judge_team(0.8, 10'000, 1.0, 1000).disturbances.empty()) << "80 us each time";
  EXPECT_TRUE(judge_team(2.0, 1'000, 1.0, 1000).disturbances.at(0).invalidates) << "2 ms each time";
}

TEST(Disturbance, lets_a_median_stand_that_one_wait_among_many_samples_cannot_reach) {
  const auto one = judge_team(0.004, 1, 0.01, 1000);
  ASSERT_EQ(one.disturbances.size(), 1U);
  EXPECT_FALSE(one.disturbances[0].invalidates);
  EXPECT_TRUE(judge_team(0.004, 1, 0.01, 10).disturbances.at(0).invalidates) << "one of ten";
}

TEST(Disturbance, distrusts_a_gpus_result_for_a_wait_only_where_the_host_was_timed) {
  EXPECT_FALSE(judge_team(0.5, 100, 1.0, 1000, "cuda").disturbances.at(0).invalidates);
  EXPECT_TRUE(judge_team(0.5, 100, 1.0, 1000, "cuda", true).disturbances.at(0).invalidates);
}

TEST(Disturbance, counts_a_thread_that_began_in_between_from_zero) {
  DeviceInfo device;
  device.backend = "cpu";
  Conditions after;
  after.threads = {{13, 0.5, 10}};
  const auto environment = judge_environment({.device = device, .before = {}, .after = after, .elapsed_s = 1.0});
  EXPECT_TRUE(environment.disturbances.at(0).invalidates);
}

TEST(Disturbance, distrusts_thermal_throttling_and_records_the_power_cap) {
  const auto thermal = judge("cuda", {}, {{}, {"hw_thermal_slowdown"}, {}});
  ASSERT_EQ(thermal.disturbances.size(), 1U);
  EXPECT_TRUE(thermal.disturbances[0].invalidates);
  const auto capped =
      judge("cuda", {{{"sm_clock", "Hz", 1.9e9}}, {}, {}}, {{{"sm_clock", "Hz", 1.4e9}}, {"sw_power_cap"}, {}});
  ASSERT_EQ(capped.disturbances.size(), 2U);
  EXPECT_FALSE(capped.disturbances[0].invalidates);
  EXPECT_FALSE(capped.disturbances[1].invalidates) << "a capped clock moves all the time";
}

TEST(Disturbance, keeps_readings_that_could_not_be_taken_without_a_value) {
  const auto environment = judge("cpu", {{{"temperature", "degC", std::nullopt}}, {}, {}}, {});
  ASSERT_EQ(environment.readings.size(), 1U);
  EXPECT_FALSE(environment.readings[0].before.has_value());
  EXPECT_FALSE(environment.readings[0].after.has_value());
}

}  // namespace
}  // namespace warpmark::measure
