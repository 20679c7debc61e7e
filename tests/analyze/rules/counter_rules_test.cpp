// Rules on sampled counters.
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::severity;

CounterSeries series(const std::string& id, std::vector<double> values) {
  CounterSeries one;
  one.id = id;
  one.device = 0;
  for (std::size_t i = 0; i < values.size(); ++i) one.times.push_back(static_cast<std::int64_t>(i) * 100'000'000);
  one.values = std::move(values);
  return one;
}

TEST(CounterRules, tell_heat_from_power) {
  ProfileSession session;
  session.counters = {series("throttle_reasons", {0x40, 0x40, 0, 0x40}),
                      series("sm_clock", {1.0e9, 1.0e9, 1.9e9, 1.0e9}), series("sm_clock_max", {1.98e9})};
  EXPECT_GT(severity(session, "thermal_throttle"), 0.4);
  EXPECT_EQ(severity(session, "power_throttle"), 0);
  session.counters[0] = series("throttle_reasons", {0x4, 0x4, 0x4, 0x4});
  EXPECT_GT(severity(session, "power_throttle"), 0.3);
  EXPECT_EQ(severity(session, "thermal_throttle"), 0);
  session.counters[0] = series("throttle_reasons", {0x1, 0x0, 0x1, 0x0});  // idle
  EXPECT_EQ(severity(session, "power_throttle"), 0);
}

TEST(CounterRules, attribution_no_limit_for_the_low_clock_of_an_idle_gpu) {
  ProfileSession session;
  session.counters = {series("throttle_reasons", {0x4, 0x1, 0x1, 0x4}),
                      series("sm_clock", {1.9e9, 0.3e9, 0.3e9, 1.9e9}), series("sm_clock_max", {2.0e9})};
  // half of the samples, 5 % of the clock, half of that counted: 1.25 % of the time, and a severity of twice that
  EXPECT_NEAR(severity(session, "power_throttle"), 0.025, 1e-9);
}

CounterSeries of_device(int device, CounterSeries one) {
  one.device = device;
  return one;
}

TEST(CounterRules, know_no_gain_where_no_sample_shows_the_clock_without_the_limit) {
  ProfileSession session;
  session.counters = {series("throttle_reasons", {0x40, 0x40, 0x40, 0x40}),
                      series("sm_clock", {0.9e9, 0.9e9, 1.0e9, 0.8e9}), series("memory_total", {8e10})};
  const auto gain = [&session] { return analyze(session).findings.at(0).gain; };
  EXPECT_TRUE(gain().unknown) << "the highest of slowed samples is no clock to reach";
  EXPECT_EQ(analyze(session).verdict.find("1.00x"), std::string::npos) << analyze(session).verdict;
  session.counters.push_back(of_device(1, series("throttle_reasons", {0, 0, 0, 0x4})));
  session.counters.push_back(of_device(1, series("sm_clock", {1.8e9, 1.8e9, 1.8e9, 1.9e9})));
  EXPECT_TRUE(gain().unknown) << "of which model the other GPU is was not sampled";
  session.counters.push_back(of_device(1, series("memory_total", {8e10})));
  EXPECT_NEAR(gain().high, 2.0, 1e-6) << "a GPU like it, in the same file";
  session.counters.back() = of_device(1, series("memory_total", {2.4e10}));
  EXPECT_TRUE(gain().unknown) << "another model";
}

TEST(CounterRules, take_the_share_of_time_that_dmon_tells_and_name_it_in_the_headline) {
  ProfileSession session;
  session.counters = {series("throttle_reasons", {4, 4, 4}), series("power_violation", {0.5, 0.6, 0.7}),
                      series("sm_clock", {1.6e9, 1.6e9, 1.6e9}), series("sm_clock_max", {2e9})};
  const Analysis analysis = analyze(session);
  EXPECT_NE(analysis.verdict.find("runs at its power limit in 60 % of the time"), std::string::npos)
      << analysis.verdict;
  EXPECT_NEAR(analysis.findings.at(0).gain.high, 1 / (1 - 0.6 * 0.2), 1e-6);
  session.counters[1] = series("power_violation", {0.8, 0.9, 0.9});
  EXPECT_GE(severity(session, "power_throttle"), kWarning);
}

TEST(CounterRules, tell_of_a_low_clock_whose_reason_was_not_sampled) {
  ProfileSession session;
  session.counters = {series("sm_clock", {1.2e9, 1.2e9, 1.2e9}), series("sm_clock_max", {1.98e9, 1.98e9, 1.98e9}),
                      series("gpu_utilization", {1, 1, 1})};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].rule, "low_clock");
  EXPECT_TRUE(analysis.findings[0].gain.unknown) << "few GPUs reach that clock with all of their units";
  EXPECT_LT(analysis.findings[0].severity, kWarning);
  EXPECT_NE(analysis.verdict.find("works at 1200 of 1980 MHz"), std::string::npos) << analysis.verdict;
  session.counters[2] = series("gpu_utilization", {0.3, 0.3, 0.3});
  EXPECT_EQ(severity(session, "low_clock"), 0) << "a GPU with little work lowers its clock";
  session.counters = {series("sm_clock", {1.9e9, 1.9e9, 1.9e9}), series("sm_clock_max", {1.98e9}),
                      series("gpu_utilization", {1, 1, 1})};
  EXPECT_EQ(severity(session, "low_clock"), 0);
}

std::vector<double> from_to(double first, double last) {
  constexpr int kSamples = 30;
  std::vector<double> values;
  for (int i = 0; i < kSamples; ++i) values.push_back(first + (last - first) * i / (kSamples - 1));
  return values;
}

TEST(CounterRules, name_a_clock_that_falls_as_the_gpu_heats_up) {
  ProfileSession session;
  session.counters = {series("sm_clock", from_to(1.98e9, 1.08e9)), series("temperature", from_to(60, 90)),
                      series("gpu_utilization", from_to(1, 1)), series("power", from_to(600, 600))};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].rule, "low_clock");
  EXPECT_GE(analysis.findings[0].severity, kWarning);
  EXPECT_NE(analysis.verdict.find("as it heats up"), std::string::npos) << analysis.verdict;
  session.counters.push_back(series("power_limit", from_to(600, 600)));
  EXPECT_EQ(severity(session, "low_clock"), 0) << "it runs at its power limit";
  session.counters.back() = series("throttle_reasons", from_to(0, 0));
  EXPECT_EQ(severity(session, "low_clock"), 0) << "the driver told its reasons";
  session.counters.pop_back();
  session.counters[0] = series("sm_clock", from_to(1.98e9, 1.88e9));
  EXPECT_EQ(severity(session, "low_clock"), 0) << "hot chips leak a little more";
}

TEST(CounterRules, name_application_clocks_that_are_set_low) {
  ProfileSession session;
  session.counters = {series("sm_clock", from_to(1.2e9, 1.2e9)), series("sm_clock_max", from_to(1.98e9, 1.98e9)),
                      series("gpu_utilization", from_to(1, 1)), series("throttle_reasons", from_to(2, 2))};
  EXPECT_NE(analyze(session).verdict.find("as its application clocks are set"), std::string::npos);
  session.counters.back() = series("throttle_reasons", from_to(4, 4));
  EXPECT_EQ(severity(session, "low_clock"), 0) << "a power cap is another rule's";
}

TEST(CounterRules, take_a_kernel_that_uses_neither_memory_nor_power_for_no_work) {
  ProfileSession session;
  session.counters = {series("gpu_utilization", from_to(1, 1)), series("memory_utilization", from_to(0, 0)),
                      series("power", from_to(25, 25)), series("power_limit", from_to(60, 60))};
  EXPECT_GE(severity(session, "idle_multiprocessors"), kWarning);
  session.counters[2] = series("power", from_to(55, 55));
  EXPECT_EQ(severity(session, "idle_multiprocessors"), 0) << "it computes in registers";
  session.counters[2] = series("power", from_to(25, 25));
  session.counters[1] = series("memory_utilization", from_to(0.3, 0.3));
  EXPECT_EQ(severity(session, "idle_multiprocessors"), 0) << "it moves data";
}

struct ErrorCase {
  const char* id;
  double first, last;
  double severity;
  const char* said;
};

TEST(CounterRules, name_errors_of_the_gpu_its_memory_and_its_link) {
  const ErrorCase cases[] = {
      {"ecc_uncorrected", 3, 3, 1, "3 uncorrected ECC errors"},
      {"xid", 48, 48, 1, "XID 48 (double-bit ECC error)"},
      {"xid", 31, 31, kWarning, "XID 31"},
      {"remapped_rows_failure", 1, 1, 1, "could not be repaired"},
      {"retired_pages_pending", 1, 1, kWarning, "waits for a reset"},
      {"pcie_replays", 100, 150, 0, ""},
      {"ecc_corrected", 0, 29, 0, ""},
      {"xid", 0, 0, 0, ""},
  };
  for (const ErrorCase& one : cases) {
    ProfileSession session;
    session.counters = {series(one.id, from_to(one.first, one.last)), series("gpu_utilization", from_to(1, 1))};
    EXPECT_EQ(severity(session, "gpu_health"), one.severity) << one.id << " " << one.last;
    EXPECT_NE(analyze(session).verdict.find(one.said), std::string::npos) << analyze(session).verdict;
  }
}

TEST(CounterRules, name_a_link_with_fewer_lanes_or_of_a_lower_generation_than_it_can_have) {
  ProfileSession session;
  session.counters = {series("gpu_utilization", from_to(0.45, 0.45)), series("pcie_link_generation", from_to(1, 1)),
                      series("pcie_link_generation_max", from_to(4, 4)), series("pcie_link_width", from_to(4, 4)),
                      series("pcie_link_width_max", from_to(16, 16))};
  EXPECT_NEAR(severity(session, "gpu_health"), 1 - 1.0 / 32, 1e-9);
  session.counters[0] = series("gpu_utilization", from_to(0, 0));
  EXPECT_EQ(severity(session, "gpu_health"), 0) << "links save power while nothing runs";
  session.counters[0] = series("gpu_utilization", from_to(0.45, 0.45));
  session.counters[1] = series("pcie_link_generation", from_to(1, 4));
  session.counters[3] = series("pcie_link_width", from_to(16, 16));
  EXPECT_EQ(severity(session, "gpu_health"), 0) << "it reaches all of it under load";
}

/// A hundred steps of 10 ms, the GPU busy all the time, and samples of two GPUs from before the steps until after them.
ProfileSession busy_session(double first_reasons, double second_reasons, double second_utilization) {
  ProfileSession session;
  session.ranks.push_back(testing_support::stepped(
      100, [](testing_support::TimelineScene& scene) { scene.launch("forces(float4*)", 10'000'000); }));
  const auto sample = [&](const std::string& id, int device, double value) {
    CounterSeries one = series(id, std::vector<double>(10, value));
    one.device = device;
    session.ranks[0].counters.push_back(std::move(one));
  };
  for (int device = 0; device < 2; ++device) {
    sample("throttle_reasons", device, device == 0 ? first_reasons : second_reasons);
    sample("gpu_utilization", device, device == 0 ? 1.0 : second_utilization);
    sample("sm_clock", device, 1.4e9);
    sample("sm_clock_max", device, 2.0e9);
  }
  return session;
}

TEST(CounterRules, look_at_the_gpu_that_the_program_works_on) {
  ProfileSession session =
      busy_session(0x4, 0, 1);  // as busy as the program's, and what the driver tells no reason for
  session.ranks[0].gpus[0].uuid = "GPU-b5";
  for (CounterSeries& one : session.ranks[0].counters) one.gpu = one.device == 0 ? "GPU-a4" : "GPU-b5";
  EXPECT_EQ(severity(session, "power_throttle"), 0);
  for (CounterSeries& one : session.ranks[0].counters) one.gpu = one.device == 0 ? "GPU-b5" : "GPU-a4";
  EXPECT_NEAR(severity(session, "power_throttle"), 0.3, 1e-6);
}

TEST(CounterRules, call_no_busy_gpu_at_its_power_limit_a_bottleneck) {
  ProfileSession session = busy_session(0x4, 0, 0);
  EXPECT_NEAR(severity(session, "power_throttle"), 0.3, 1e-6);
  for (const auto& [id, watts] : {std::pair("power_limit", 500.0), std::pair("power_limit_default", 700.0)}) {
    session.ranks[0].counters.push_back(series(id, {watts}));
  }
  EXPECT_NEAR(severity(session, "power_throttle"), 0.6, 1e-6);  // somebody lowered it
}

TEST(CounterRules, attribution_the_program_for_no_gpu_of_others) {
  EXPECT_EQ(severity(busy_session(0, 0x4, 0.1), "power_throttle"), 0);
  EXPECT_EQ(severity(busy_session(0, 0x4, 1.0), "power_throttle"), 0);  // either may be the program's
  EXPECT_GT(severity(busy_session(0x4, 0x4, 1.0), "power_throttle"), 0.2);
}

TEST(CounterRules, look_at_the_samples_of_the_steps) {
  ProfileSession session = busy_session(0, 0, 0);
  CounterSeries& reasons = session.ranks[0].counters.front();
  for (int i = 0; i < 40; ++i) {  // four seconds after the last step
    reasons.times.push_back((20 + i) * 100'000'000LL);
    reasons.values.push_back(0x4);
  }
  EXPECT_EQ(severity(session, "power_throttle"), 0);
}

TEST(CounterRules, hide_no_finding_about_the_program) {
  ProfileSession session = busy_session(0x4, 0, 0);
  session.ranks[0] = testing_support::stepped(100, [](testing_support::TimelineScene& scene) {
    scene.launch("forces(float4*)", 8'800'000);
    scene.synchronize();
    scene.idle_host(1'200'000);
  });
  session.ranks[0].counters = busy_session(0x4, 0, 0).ranks[0].counters;
  const std::vector<Finding> findings = analyze(session).findings;
  ASSERT_GE(findings.size(), 2U);
  EXPECT_NE(findings[0].rule, "power_throttle");
  EXPECT_LT(findings[0].severity, severity(session, "power_throttle"));
}

TEST(CounterRules, know_what_a_pcie_link_carries) {
  ProfileSession session;
  session.counters = {series("pcie_rx", {50e9, 50e9, 50e9, 10e9}), series("pcie_link_generation", {5}),
                      series("pcie_link_width", {16})};
  EXPECT_GT(severity(session, "pcie_saturated"), 0.4);
  session.counters[0] = series("pcie_rx", {5e9, 20e9});
  EXPECT_EQ(severity(session, "pcie_saturated"), 0);
}

TEST(CounterRules, tell_of_few_active_multiprocessors_while_the_gpu_is_used) {
  ProfileSession session;
  session.counters = {series("sm_active", {0.1, 0.1, 0.0, 0.1, 0.1}),
                      series("graphics_active", {0.9, 0.9, 0, 0.9, 0.9})};
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "idle_multiprocessors");
  EXPECT_EQ(finding.kind, "kernel_efficiency");
  EXPECT_GT(finding.severity, 0.4) << "a warning";
  EXPECT_NE(finding.title.find("10 % of the time in which it is used"), std::string::npos) << finding.title;
  session.counters[0] = series("sm_active", {0.8, 0.8, 0.0, 0.8, 0.8});
  EXPECT_EQ(severity(session, "idle_multiprocessors"), 0) << "the sample without work does not count";
  session.counters = {series("sm_active", {0, 0, 0, 0, 0})};
  EXPECT_EQ(severity(session, "idle_multiprocessors"), 0) << "nobody uses it";
}

TEST(CounterRules, say_little_of_multiprocessors_beside_a_timeline) {
  ProfileSession session = busy_session(0, 0, 0);
  session.ranks[0].counters = {series("sm_active", std::vector<double>(10, 0.2)),
                               series("gpu_utilization", std::vector<double>(10, 1.0))};
  EXPECT_NEAR(severity(session, "idle_multiprocessors"), 0.2, 1e-9);
}

TEST(CounterRules, tell_of_memory_that_is_as_busy_as_it_can_be) {
  ProfileSession session;
  session.counters = {series("dram_active", {0.75, 0.75, 0.0, 0.75}), series("graphics_active", {1, 1, 0, 1})};
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "memory_busy");
  EXPECT_EQ(analysis.findings.front().kind, "memory_bandwidth");
  EXPECT_NE(analysis.findings.front().title.find("busy in 75 %"), std::string::npos) << analysis.findings.front().title;
  session.counters[0] = series("dram_active", {0.5, 0.5, 0.0, 0.5});
  EXPECT_EQ(severity(session, "memory_busy"), 0) << "the sample without work counts for nothing, and 0.5 is not much";
  session.counters[0] = series("dram_active", {0.75, 0.75});
  EXPECT_EQ(severity(session, "memory_busy"), 0) << "two samples tell nothing";
}

TEST(CounterRules, say_little_of_busy_memory_beside_a_timeline) {
  ProfileSession session = busy_session(0, 0, 0);
  session.ranks[0].counters = {series("dram_active", std::vector<double>(10, 0.8)),
                               series("gpu_utilization", std::vector<double>(10, 1.0))};
  EXPECT_NEAR(severity(session, "memory_busy"), 0.2, 1e-9);
}

TEST(CounterRules, tell_limits_from_the_times_that_dcgm_counts) {
  ProfileSession session;
  session.counters = {series("power_violation_time", {1.0, 1.1, 1.15, 1.2}),
                      series("thermal_violation_time", {0, 0, 0, 0}), series("sm_clock", {1.4e9, 1.4e9, 1.4e9, 2.0e9})};
  // 0.2 s of 0.3 s at a mean of 1.55 of 2 GHz, half of that counted
  EXPECT_NEAR(severity(session, "power_throttle"), 2 * 0.5 * (0.2 / 0.3) * (1 - 1.55 / 2), 1e-6);
  EXPECT_EQ(severity(session, "thermal_throttle"), 0);
}

TEST(CounterRules, know_the_shares_of_a_link_that_nsight_systems_samples) {
  ProfileSession session;
  session.counters = {series("pcie_rx_utilization", {0.95, 0.97, 0.5, 0.2})};
  EXPECT_GT(severity(session, "pcie_saturated"), 0.4);
  session.counters = {series("pcie_tx_utilization", {0.6, 0.7})};
  EXPECT_EQ(severity(session, "pcie_saturated"), 0);
}

TEST(CounterRules, tell_of_a_gpu_that_is_hardly_used_and_of_its_free_memory) {
  ProfileSession session;
  session.counters = {series("gpu_utilization", {0.42, 0.45, 0.44, 0.43}),
                      series("memory_used", {48e9, 48e9, 48e9, 48e9}), series("memory_total", {80e9})};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 2U);
  EXPECT_EQ(analysis.findings[0].rule, "low_utilization");
  EXPECT_NEAR(analysis.findings[0].severity, 0.565, 0.001);
  EXPECT_NEAR(analysis.findings[0].gain.high, 1 / 0.435, 0.01);
  EXPECT_LE(analysis.findings[1].gain.high, 80.0 / 48 + 1e-9) << "no larger than the memory allows";
  session.counters[0] = series("gpu_utilization", {0.97, 0.98, 0.96, 0.97});
  EXPECT_TRUE(analyze(session).findings.empty());
}

TEST(CounterRules, take_a_gpu_that_is_throttled_in_every_sample_for_no_healthy_one) {
  ProfileSession session;
  session.counters = {series("throttle_reasons", {0x40, 0x40, 0x40, 0x40}),
                      series("sm_clock", {1.2e9, 1.2e9, 1.2e9, 1.2e9})};
  const Analysis analysis = analyze(session);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_GE(analysis.findings.front().severity, kWarning);
}

/// Multiprocessors at less than 40 % are critical, below 60 % a warning; a kernel further from its peak is worse.

}  // namespace
}  // namespace warpmark::analyze
