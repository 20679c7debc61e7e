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

TEST(Disturbance, mistrusts_thermal_throttling_and_records_the_power_cap) {
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
