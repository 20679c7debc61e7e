// Rules on kernel profiles.
#include <gtest/gtest.h>

#include <string>

#include "analyze/analyze.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::severity;

KernelProfile kernel(const std::string& name, KernelMetrics metrics) {
  KernelProfile profile;
  profile.name = name;
  profile.metrics = std::move(metrics);
  profile.metrics.add("gpu__time_duration.sum", "ns", 1'000'000);
  return profile;
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
      {"occupancy",  // few warps keep tensor cores busy, as in fused attention
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 18}, {kCompute, "%", 40}},
       {{"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 18}, {kCompute, "%", 79}}},
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
      {"compute_bound_kernel",
       {{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", "%", 97}},
       {{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", "%", 60}}},
      {"compute_bound_kernel",
       {{"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "%", 84}},
       {{"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "%", 84},
        {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", 91}}},
      {"register_spills",
       {{"derived__local_spilling_requests_pct", "%", 40}},
       {{"derived__local_spilling_requests_pct", "%", 5}}},
      {"register_spills",
       {{"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "", 3e6},
        {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "", 1e6}},
       {{"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "", 0},
        {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "", 1e6}}},
      {"register_spills",
       {{"smsp__inst_executed_op_local_ld.sum", "", 9e8}},
       {{"smsp__inst_executed_op_local_ld.sum", "", 0}}},
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

TEST(KernelRules, name_a_small_grid_before_its_symptoms) {
  const KernelMetrics metrics{{"launch__waves_per_multiprocessor", "", 0.37},
                              {"launch__grid_size", "", 40},
                              {"launch__sm_count", "", 108},
                              {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", 12},
                              {"sm__maximum_warps_per_active_cycle_pct", "%", 12.5},
                              {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 11.8}};
  ProfileSession session;
  session.kernels = {kernel("stencil(float *)", metrics)};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  const Finding& finding = analysis.findings[0];
  EXPECT_EQ(finding.rule, "tail_effect");
  EXPECT_NE(finding.evidence.at(0).text.find("40 blocks on 108 multiprocessors"), std::string::npos);
  EXPECT_NE(finding.recommendations.at(0).text.find("Launch more blocks"), std::string::npos);
  EXPECT_NEAR(finding.gain.high, 108.0 / 40, 1e-6);
}

TEST(KernelRules, call_an_occupancy_of_88_per_cent_not_low) {
  const auto session = [](double achieved) {
    ProfileSession result;
    result.kernels = {kernel("ok(float *)", {{"sm__maximum_warps_per_active_cycle_pct", "%", 100},
                                             {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", achieved}})};
    return result;
  };
  EXPECT_EQ(severity(session(88), "occupancy"), 0);
  EXPECT_GT(severity(session(75), "occupancy"), 0);
}

TEST(KernelRules, promise_a_kernel_at_the_memory_peak_what_is_left_of_it) {
  for (const char* name : {"triton_poi_fused_add_mul_0", "copy(float*)"}) {
    ProfileSession session;
    session.kernels = {kernel(name, {{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", 18},
                                     {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", 93}})};
    const Analysis analysis = analyze(session);
    ASSERT_EQ(analysis.findings.size(), 1U);
    EXPECT_EQ(analysis.findings[0].rule, "memory_bound_kernel");
    EXPECT_NEAR(analysis.findings[0].gain.high, 1 / 0.93, 1e-6);
    ASSERT_EQ(analysis.findings[0].recommendations.size(), 1U);
    EXPECT_EQ(analysis.findings[0].recommendations[0].text.find("Move fewer bytes"), 0U) << name;
  }
}

TEST(KernelRules, see_that_caches_are_at_their_peak_and_the_memory_is_not) {
  ProfileSession session;
  session.kernels = {
      kernel("reduce(float*)", {{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", 20},
                                {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", 90},
                                {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", 8},
                                {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "", 99e6},
                                {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "", 100e6}})};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].title.find("Caches or shared memory are used up"), 0U) << analysis.findings[0].title;
  EXPECT_NE(analysis.findings[0].evidence.at(0).text.find("99 % of shared memory's wavefronts are bank conflicts"),
            std::string::npos);
}

struct PipeCase {
  const char* pipe;
  const char* kernel;
  const char* capability;
  double memory;  ///< per cent of its peak
  double left;    ///< of the kernel's time, at least
};

TEST(KernelRules, bound_a_busy_pipeline_by_the_faster_one_and_by_memory) {
  const PipeCase cases[] = {
      {"fp64", "nbody(double *)", "8.9", 1, 1.0 / 64},
      {"fp64", "nbody(double *)", "8.9", 5, 0.05},
      {"fp64", "nbody(double *)", "9.0", 5, 0.5},
      {"fp64", "nbody(double *)", "7.5", 1, 1.0 / 32},
      {"fma", "sgemm_nn", "9.0", 40, 0.4},
      {"fma", "sgemm_nn", "9.0", 5, 67.0 / 495},
      {"fma", "nbody(float *)", "9.0", 5, 0.9},
  };
  for (const PipeCase& one : cases) {
    ProfileSession session;
    session.kernels = {kernel(
        one.kernel, {{std::string("sm__inst_executed_pipe_") + one.pipe + ".avg.pct_of_peak_sustained_active", "%", 90},
                     {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", one.memory}})};
    session.kernels[0].compute_capability = one.capability;
    const Analysis analysis = analyze(session);
    const Finding* finding = testing_support::find(analysis, "compute_bound_kernel");
    ASSERT_NE(finding, nullptr) << one.kernel;
    EXPECT_NEAR(finding->gain.high, 1 / one.left, 1e-4 / one.left) << one.kernel << one.capability;
  }
}

TEST(KernelRules, take_the_words_of_the_profilers_own_rules_where_it_printed_no_metrics) {
  ProfileSession session;
  session.kernels = {
      kernel("copy(float *)", {{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", 70}})};
  session.kernels[0].rules = {
      {"MemoryCacheAccessPattern", "OPT", "Only 4 of 32 bytes are used. See the table.", "global", 50},
      {"UncoalescedGlobalAccess", "OPT", "Excessive sectors. See the table.", "global", 80},
      {"HighPipeUtilization", "OPT", "All pipelines are under-utilized.", "local", 90},
      {"SOLBottleneck", "INF", "Memory is more heavily utilized.", "", 0}};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].rule, "uncoalesced_access");
  EXPECT_NEAR(analysis.findings[0].gain.high, 1 / (1 - 0.8 * 0.7), 1e-6);
  EXPECT_NE(
      analysis.findings[0].evidence.at(0).text.find("Excessive sectors (Nsight Compute, UncoalescedGlobalAccess)"),
      std::string::npos);
  const AnalysisTable* table = testing_support::table_of(analysis, "kernel_rules");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.size(), 3U) << "what informs alone is left out";
}

TEST(KernelRules, make_one_finding_of_kernels_with_different_limits) {
  const KernelMetrics grid{
      {"launch__waves_per_multiprocessor", "", 0.2}, {"launch__grid_size", "", 32}, {"launch__sm_count", "", 132}};
  ProfileSession session;
  session.kernels = {kernel("a(float *)", grid), kernel("b(float *)", {{"launch__waves_per_multiprocessor", "", 1.5}})};
  const Analysis analysis = analyze(session);
  ASSERT_EQ(analysis.findings.size(), 1U);
  EXPECT_EQ(analysis.findings[0].title, "Blocks do not fill the GPU in 2 kernels, worst a");
  EXPECT_EQ(analysis.findings[0].recommendations.size(), 2U);
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
