// Rules on kernel profiles and counters.
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

KernelProfile kernel(const std::string& name, KernelMetrics metrics) {
  KernelProfile profile;
  profile.name = name;
  profile.metrics = std::move(metrics);
  profile.metrics.add("gpu__time_duration.sum", "ns", 1'000'000);
  return profile;
}

double severity(const ProfileSession& session, const std::string& rule) {
  for (const Finding& finding : analyze(session).findings) {
    if (finding.rule == rule) return finding.severity;
  }
  return 0;
}

struct MeasuredCase {
  const char* rule;
  KernelMetrics bad;
  KernelMetrics good;
};

TEST(KernelRules, fire_at_the_thresholds_of_the_profilers_own_rules) {
  const char* kCompute = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
  const char* kMemory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
  const char* kDram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
  const MeasuredCase cases[] = {
      {"occupancy",
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 40},
        {"sm__maximum_warps_per_active_cycle_pct", "%", 50}},
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 85},
        {"sm__maximum_warps_per_active_cycle_pct", "%", 90}}},
      {"warp_divergence",
       {{"smsp__thread_inst_executed_per_inst_executed.ratio", "", 12}, {kCompute, "%", 90}},
       {{"smsp__thread_inst_executed_per_inst_executed.ratio", "", 26}, {kCompute, "%", 90}}},
      {"uncoalesced_access",
       {{"derived__memory_l2_theoretical_sectors_global_excessive", "", 58e6},
        {"memory_l2_theoretical_sectors_global", "", 75e6}},
       {{"derived__memory_l2_theoretical_sectors_global_excessive", "", 0},
        {"memory_l2_theoretical_sectors_global", "", 75e6}}},
      {"uncoalesced_access",
       {{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "", 32}},
       {{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "", 4}}},
      {"sm_efficiency",
       {{"smsp__issue_active.avg.per_cycle_active", "", 0.2}, {kCompute, "%", 30}, {kMemory, "%", 40}},
       {{"smsp__issue_active.avg.per_cycle_active", "", 0.2}, {kCompute, "%", 30}, {kMemory, "%", 85}}},
      // With nothing but throughputs and active warps measured.
      {"sm_efficiency", {{kCompute, "%", 35}}, {{kCompute, "%", 65}}},
      {"sm_efficiency", {{kCompute, "%", 50}, {kDram, "%", 30}}, {{kCompute, "%", 50}, {kDram, "%", 90}}},
      {"memory_bound_kernel", {{kCompute, "%", 50}, {kDram, "%", 90}}, {{kCompute, "%", 50}, {kDram, "%", 70}}},
      {"occupancy",
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 25}},
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 35}}},
      {"warp_divergence",
       {{"smsp__thread_inst_executed_per_inst_executed.pct", "%", 70}},
       {{"smsp__thread_inst_executed_per_inst_executed.pct", "%", 85}}},
      {"memory_bound_kernel", {{kMemory, "%", 90}, {kCompute, "%", 20}}, {{kMemory, "%", 79}, {kCompute, "%", 20}}},
      {"tail_effect",
       {{"launch__waves_per_multiprocessor", "", 1.5}},
       {{"launch__waves_per_multiprocessor", "", 24.5}}},
      {"tail_effect",
       {{"launch__waves_per_multiprocessor", "", 0.2}, {"launch__grid_size", "", 32}, {"launch__sm_count", "", 132}},
       {{"launch__waves_per_multiprocessor", "", 1.0}, {"launch__grid_size", "", 132}, {"launch__sm_count", "", 132}}},
  };
  for (const MeasuredCase& one : cases) {
    ProfileSession bad;
    bad.kernels.push_back(kernel("slow(float*)", one.bad));
    EXPECT_GT(severity(bad, one.rule), 0.1) << one.rule;
    ProfileSession good;
    good.kernels.push_back(kernel("fast(float*)", one.good));
    EXPECT_EQ(severity(good, one.rule), 0) << one.rule;
  }
}

TEST(KernelRules, an_unused_processor_is_as_severe_as_its_throughput_is_low) {
  ProfileSession session;
  session.kernels.push_back(kernel("slow(float*)", {{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", 35}}));
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].kind, "kernel_efficiency");
  EXPECT_NEAR(analysis.findings[0].severity, 0.7375, 1e-9);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].id, "kernel_cards");
  EXPECT_EQ(std::get<std::string>(analysis.tables[0].rows[0][7]), "latency");
}

struct OccupancyCase {
  const char* name;
  double possible, blocks, registers, shared, warps;  ///< per cent, then the limits in blocks
  const char* said;
  const char* advised;  ///< null: nothing
};

TEST(KernelRules, name_what_bounds_the_occupancy) {
  const OccupancyCase cases[] = {
      {"small blocks", 50, 32, 84, 32, 64, "blocks of 32 threads", "larger blocks"},
      {"registers", 25, 32, 2, 32, 8, "32 registers per thread", "fewer registers"},
      {"shared memory", 25, 32, 16, 2, 8, "shared memory per block", "less shared memory"},
      {"odd blocks", 75, 32, 16, 32, 2, "of which 2 fit", "propose the block size"},
      {"all of it", 100, 32, 16, 32, 8, "100 % possible", nullptr},
  };
  for (const OccupancyCase& one : cases) {
    ProfileSession session;
    session.kernels.push_back(kernel("mine(float*)", {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 20},
                                                      {"sm__maximum_warps_per_active_cycle_pct", "%", one.possible},
                                                      {"launch__block_size", "", 32},
                                                      {"launch__registers_per_thread", "", 32},
                                                      {"launch__occupancy_limit_blocks", "", one.blocks},
                                                      {"launch__occupancy_limit_registers", "", one.registers},
                                                      {"launch__occupancy_limit_shared_mem", "", one.shared},
                                                      {"launch__occupancy_limit_warps", "", one.warps}}));
    const Analysis analysis = analyze(session);
    ASSERT_FALSE(analysis.findings.empty()) << one.name;
    const Finding& finding = analysis.findings[0];
    ASSERT_EQ(finding.rule, "occupancy") << one.name;
    EXPECT_NE(finding.evidence[0].text.find(one.said), std::string::npos) << finding.evidence[0].text;
    if (one.advised == nullptr) {
      EXPECT_TRUE(finding.recommendations.empty()) << one.name;
      continue;
    }
    ASSERT_FALSE(finding.recommendations.empty()) << one.name;
    EXPECT_NE(finding.recommendations[0].text.find(one.advised), std::string::npos) << finding.recommendations[0].text;
  }
}

TEST(KernelRules, weigh_a_kernel_by_its_share_of_the_step) {
  const auto session = [](const char* bad_kernel) {
    ProfileSession result;
    result.ranks.push_back(testing_support::stepped(6, [](testing_support::TimelineScene& scene) {
      for (int i = 0; i < 9; ++i) scene.launch("void big<float>(float*)", 100'000);
      scene.launch("small(int)", 100'000);
    }));
    result.kernels.push_back(kernel(bad_kernel, {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 25}}));
    return result;
  };
  EXPECT_GT(severity(session("big(float*)"), "occupancy"), 0.9);
  EXPECT_LT(severity(session("small"), "occupancy"), 0.2);
}

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
TEST(KernelRules, need_no_durations_and_grade_by_the_share_that_is_unused) {
  std::vector<double> severities;
  for (const double busy : {20.0, 35.0, 45.0, 59.0}) {
    ProfileSession session;
    KernelProfile kernel;
    kernel.name = "scale(float*)";
    kernel.metrics.add("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", busy);
    kernel.metrics.add("dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", 20.0);
    kernel.metrics.add("sm__warps_active.avg.pct_of_peak_sustained_active", "%", 25.0);
    session.kernels.push_back(std::move(kernel));
    const Analysis analysis = analyze(session);
    const auto efficiency = std::ranges::find(analysis.findings, std::string("sm_efficiency"), &Finding::rule);
    ASSERT_NE(efficiency, analysis.findings.end()) << busy;
    EXPECT_STREQ(severity_name(efficiency->severity), busy < 40 ? "critical" : "warning") << busy;
    severities.push_back(efficiency->severity);
  }
  EXPECT_TRUE(std::ranges::is_sorted(severities, std::greater<>()));
}

}  // namespace
}  // namespace warpmark::analyze
