// Nsight Compute's CSV, the tables of nvidia-smi and dcgmi, and nccl-tests. The texts are shortened from real output.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "profile/readers/ncu/ncu_values.h"
#include "profile/trace_text.h"

namespace warpmark::profile {
namespace {

using test::read_text;

constexpr const char* kRaw =
    "==PROF== Connected to process 664 (./kernels)\n"
    "a line of the program with a \" in it\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid "
    "Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\","
    "\"dram__bytes.sum\",\"launch__func_cache_config\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"ns\",\"%\",\"Mbyte\",\"\"\n"
    "\"0\",\"664\",\"k\",\"h\",\"saxpy(float, const float *)\",\"1\",\"7\",\"(256, 1, 1)\",\"(262144, 1, "
    "1)\",\"0\",\"9.0\","
    "\"288,192\",\"17.52\",\"1.5\",\"CachePreferNone\"\n"
    "==PROF== Disconnected\n"
    "\"1\",\"664\",\"k\",\"h\",\"saxpy(float, const float *)\",\"1\",\"7\",\"(256, 1, 1)\",\"(262144, 1, "
    "1)\",\"0\",\"9.0\","
    "\"1,288,192\",\"n/a\",\"nan\",\"x\"\n"
    "\"2\",\"664\",\"k";

TEST(NcuRaw, reads_values_units_and_ordinals) {
  const auto session = read_text(kRaw);
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->kernels.size(), 2U);
  const KernelProfile& first = session->kernels[0];
  EXPECT_EQ(first.name, "saxpy(float, const float *)");
  EXPECT_EQ(first.grid, "(262144, 1, 1)");
  EXPECT_EQ(first.process, 664);
  EXPECT_EQ(first.stream, 7);
  EXPECT_EQ(first.device, 0);
  EXPECT_EQ(first.metric("gpu__time_duration.sum"), 288192);
  EXPECT_EQ(first.metric("dram__bytes.sum"), 1.5e6);
  EXPECT_EQ(first.metrics[2].unit, "byte");
  EXPECT_EQ(first.metrics.size(), 3U);
  EXPECT_EQ(session->kernels[1].ordinal, 1);
  EXPECT_EQ(session->kernels[1].metrics.size(), 1U);
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].id, "truncated");
}

TEST(NcuRaw, tells_of_a_line_that_is_too_long) {
  const auto session = read_text(std::string(kRaw) + "\n" + std::string(17 << 20, 'x') + "\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(session->kernels.size(), 2U);
  const auto& quality = session->quality;
  const auto found =
      std::find_if(quality.begin(), quality.end(), [](const auto& one) { return one.id == "long_line"; });
  ASSERT_NE(found, quality.end());
  EXPECT_EQ(found->count, 1);
}

TEST(NcuDetails, maps_labels_to_metrics_and_keeps_rules) {
  const std::string head =
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Section Name\",\"Metric Name\",\"Metric "
      "Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated "
      "Speedup\"\n";
  const std::string kernel = "\"0\",\"9\",\"k\",\"(8, 1, 1)\",\"(2, 1, 1)\",";
  const auto session =
      read_text(head + kernel + "\"GPU Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"81.83\"\n" + kernel +
                "\"Memory Workload Analysis\",\"Memory Throughput\",\"Tbyte/second\",\"2.5\"\n" + kernel +
                "\"Occupancy\",\"Achieved Occupancy\",\"%\",\"76.21\"\n" + kernel +
                "\"Occupancy\",\"Something New\",\"block\",\"3\"\n" + kernel +
                "\"ComputeWorkloadAnalysis\",\"\",\"\",\"\",\"HighPipeUtilization\",\"OPT\",\"line one\nline "
                "\"\"two\"\"\",\"local\",\"90.2\"\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->kernels.size(), 1U);
  const KernelProfile& kernel_profile = session->kernels[0];
  EXPECT_EQ(kernel_profile.metric("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"), 81.83);
  EXPECT_EQ(kernel_profile.metric("dram__bytes.sum.per_second"), 2.5e12);
  EXPECT_EQ(kernel_profile.metric("sm__warps_active.avg.pct_of_peak_sustained_active"), 76.21);
  EXPECT_EQ(kernel_profile.metric("Something New"), 3);
  EXPECT_EQ(kernel_profile.device, -1);
  ASSERT_EQ(kernel_profile.rules.size(), 1U);
  EXPECT_EQ(kernel_profile.rules[0].description, "line one\nline \"two\"");
  EXPECT_EQ(kernel_profile.rules[0].speedup_percent, 90.2);
}

/// The ID is ncu's; the ordinal counts launches of one shape.
TEST(NcuDetails, keeps_the_ids_and_the_estimates_of_launches_of_several_shapes) {
  std::string text =
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric "
      "Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup "
      "Type\",\"Estimated Speedup\"\n";
  for (const char* launch : {"\"0\",\"9\",\"k\",\"(576, 1, 1)\",\"(171, 1, 1)\",\"0\",\"8.0\",",
                             "\"1\",\"9\",\"k\",\"(576, 1, 1)\",\"(43, 1, 1)\",\"0\",\"8.0\","}) {
    text += std::string(launch) + "\"Occupancy\",\"Achieved Occupancy\",\"%\",\"40.29\",\n" + launch +
            "\"SourceCounters\",\"\",\"\",\"\",\"UncoalescedGlobalAccess\",\"OPT\",\"88% of the "
            "sectors\",\"global\",\"86.47\"\n";
  }
  const auto session = read_text(text);
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->kernels.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const KernelProfile& kernel = session->kernels[i];
    EXPECT_EQ(kernel.id, static_cast<std::int64_t>(i));
    EXPECT_EQ(kernel.ordinal, 0);
    EXPECT_EQ(kernel.metric("sm__warps_active.avg.pct_of_peak_sustained_active"), 40.29);
    ASSERT_EQ(kernel.rules.size(), 1U);
    EXPECT_EQ(kernel.rules[0].name, "UncoalescedGlobalAccess");
    EXPECT_EQ(kernel.rules[0].speedup_type, "global");
    EXPECT_EQ(kernel.rules[0].speedup_percent, 86.47);
  }
}

TEST(NcuValues, understand_locales_and_prefixes) {
  const auto value = [](const char* text, const char* unit) {
    return parse_ncu_value(text, unit).value_or(NcuValue{-1, ""});
  };
  EXPECT_EQ(value("53,261,312", "").value, 53261312);
  EXPECT_EQ(value("1.234.567,5", "").value, 1234567.5);
  EXPECT_EQ(value("1,234.5", "").value, 1234.5);
  EXPECT_EQ(value("0,5", "").value, 0.5);
  EXPECT_EQ(value("288,192", "ns").value, 288192);
  EXPECT_EQ(value("1.5", "usecond").value, 1500);
  EXPECT_EQ(value("1.5", "Ghz").unit, "hz");
  EXPECT_EQ(value("2", "Kbyte/block").value, 2000);
  EXPECT_EQ(value("2", "Kbyte/block").unit, "byte/block");
  EXPECT_EQ(parse_ncu_value("n/a", ""), std::nullopt);
  EXPECT_EQ(normal_shape("256, 2"), "(256, 2, 1)");
}

const CounterSeries* series(const ProfileSession& session, std::string_view id, int device) {
  for (const CounterSeries& one : session.counters) {
    if (one.id == id && one.device == device) return &one;
  }
  return nullptr;
}

TEST(NvidiaSmiDmon, reads_columns_by_name_and_skips_repeated_headers) {
  const auto session = read_text(
      "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol  rxpci new\n"
      "# Idx      W      C      C      %      %    MHz    MHz      %   bool   MB/s   ?\n"
      "    0    350     60      -     97     45   2619   1980      0      0    120   1\n"
      "    1    100     40      -      0      0   2619    345     12      0      3   1\n"
      "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol  rxpci new\n"
      "    0    355     61     50     98     46   2619   1975      0      1    121   1\n"
      "    0    3\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_THAT(series(*session, "power", 0)->values, testing::ElementsAre(350, 355));
  EXPECT_THAT(series(*session, "power", 0)->times, testing::ElementsAre(0, 1'000'000'000));
  EXPECT_DOUBLE_EQ(series(*session, "gpu_utilization", 0)->values[0], 0.97);
  EXPECT_DOUBLE_EQ(series(*session, "sm_clock", 1)->values[0], 345e6);
  EXPECT_TRUE(std::isnan(series(*session, "memory_temperature", 0)->values[0]));
  EXPECT_DOUBLE_EQ(series(*session, "pcie_rx", 0)->values[0], 120e6);
  EXPECT_THAT(series(*session, "throttle_reasons", 0)->values, testing::ElementsAre(0, 0x20));
  EXPECT_THAT(series(*session, "throttle_reasons", 1)->values, testing::ElementsAre(0x4));
  EXPECT_EQ(series(*session, "new", 0), nullptr);
  const auto left_out = std::ranges::find(session->quality, "unknown_column", &DataQualityIssue::id);
  ASSERT_NE(left_out, session->quality.end());
  EXPECT_EQ(left_out->count, 1) << "headers that repeat count once";
  EXPECT_EQ(left_out->example, "new");
}

TEST(NvidiaSmiDmon, reads_dates_and_csv) {
  const auto session =
      read_text("#Date, Time, gpu, sm, fb\n#YYYYMMDD, HH:MM:SS, Idx, %, MB\n20260301, 12:34:56, 0, 50, 1024\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_THAT(series(*session, "gpu_utilization", 0)->times, testing::ElementsAre(1772368496'000'000'000));
  EXPECT_THAT(series(*session, "memory_used", 0)->values, testing::ElementsAre(1073741824.0));
}

TEST(DcgmDmon, reads_rows_of_gpus) {
  const auto session = read_text(
      "#Entity   GRACT        SMACT        TENSO        PCIRX        SMCLK\n"
      "ID\n"
      "GPU 0     0.912        0.500        0.250        1000000      1980\n"
      "GPU 1     N/A          0.400        0.100        5            1970\n"
      "GPU-I 3   0.1          0.1          0.1          1            1\n"
      "GPU 0     0.812        0.600        0.350        1000001      1981\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_THAT(series(*session, "graphics_active", 0)->values, testing::ElementsAre(0.912, 0.812));
  EXPECT_EQ(series(*session, "graphics_active", 1), nullptr) << "it reports none";
  EXPECT_THAT(series(*session, "tensor_active", 0)->times, testing::ElementsAre(0, 1'000'000'000));
  EXPECT_THAT(series(*session, "sm_clock", 0)->values, testing::ElementsAre(1980e6, 1981e6));
}

TEST(NcclTests, reads_both_halves_of_a_row) {
  const auto session = read_text(
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 1073741824 step: 8(factor) warmup iters: 1\n"
      "#  Rank  0 Group  0 Pid    545 on         vm device  0 [0000:00:06] NVIDIA H200\n"
      "#  Rank  1 Group  0 Pid    545 on         vm device  1 [0000:00:07] NVIDIA H200\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
      "  1073741824     268435456     float     sum      -1  3266.10  328.75  328.75       0  3254.41  329.93  329.93  "
      "  N/A\n"
      "# Avg bus bandwidth    : 90.6728\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  ASSERT_EQ(session->collectives.size(), 2U);
  const CollectiveResult& out = session->collectives[0];
  EXPECT_EQ(out.collective, "all_reduce");
  EXPECT_EQ(out.gpu, "NVIDIA H200");
  EXPECT_EQ(out.ranks, 2);
  EXPECT_EQ(out.bytes, 1073741824);
  EXPECT_EQ(out.operation, "sum");
  EXPECT_DOUBLE_EQ(out.seconds, 3266.10e-6);
  EXPECT_DOUBLE_EQ(out.bus_bandwidth, 328.75e9);
  EXPECT_EQ(out.wrong, 0);
  EXPECT_TRUE(session->collectives[1].in_place);
  EXPECT_EQ(session->collectives[1].wrong, std::nullopt);
}

TEST(NcclTests, without_rows_says_so) {
  const auto session = read_text("# nThread 1 nGpus 2 minBytes 8 maxBytes 16\n");
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().kind, ErrorKind::data);
}

TEST(TextFormats, are_read_in_time_that_grows_with_their_size) {
  // Each of these once took time that grows with the square of its size: minutes, where the test may take seconds.
  std::string open_quote = "\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n\"1\",\"";
  for (int i = 0; i < 500'000; ++i) open_quote += "\na";
  const auto kernels = read_text(open_quote);
  ASSERT_TRUE(kernels.ok()) << kernels.error().what;
  EXPECT_EQ(kernels->kernels.size(), 1U);

  std::string many_gpus = "# gpu pviol tviol\n";
  for (int i = 0; i < 60'000; ++i) many_gpus += std::to_string(i % 1030) + " 1 0\n";
  const auto counters = read_text(many_gpus);
  ASSERT_TRUE(counters.ok()) << counters.error().what;
  EXPECT_EQ(counters->counters.size(), 3U * 1024) << "no machine has more GPUs";
  EXPECT_EQ(series(*counters, "throttle_reasons", 1023)->values.back(), 4);
}

TEST(NcclTests, with_rows_in_place_alone_says_so) {
  const auto session = read_text(
      "# nThread 1 nGpus 2 minBytes 8\n"
      "#  size count type redop time algbw busbw #wrong time algbw busbw #wrong\n"
      " 8 2 float sum x x x N/A 4 5 6 0\n");
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().what.find("no row of results"), std::string::npos) << session.error().what;
}

TEST(NcclTests, leaves_out_and_counts_what_no_sweep_prints) {
  std::string text = "# nThread 1 nGpus 2 minBytes 8\n# size count type redop root time algbw busbw #wrong\n";
  for (int i = 0; i < 20'000; ++i) text += "8 2 float sum -1 1.5 2.5 3.5 0\n";
  const auto session = read_text(text);
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(session->collectives.size(), 16384U);
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].id, "too_many_rows");
  EXPECT_EQ(session->quality[0].count, 20'000 - 16384);
}

TEST(NvidiaSmiQuery, of_another_tool_is_not_called_by_its_name) {
  const auto session = read_text("timestamp,gpu_power_w,gpu_energy_kwh\n2025-07-03T08:43:07.981514,4939.00,0.00137\n");
  ASSERT_TRUE(session.ok());
  std::vector<std::string> ids;
  for (const auto& issue : session->quality) {
    EXPECT_THAT(issue.text, testing::Not(testing::HasSubstr("nvidia-smi")));
    ids.push_back(issue.id);
  }
  EXPECT_THAT(ids, testing::Contains("odd_power"));
}

TEST(NvidiaSmiQuery, reads_units_times_and_reasons) {
  const auto session = read_text(
      "timestamp, index, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], memory.used [MiB], memory.total "
      "[MiB], clocks_throttle_reasons.sw_power_cap, clocks_throttle_reasons.hw_thermal_slowdown\n"
      "2026/04/23 11:23:24.000, 0, 42 %, 370.50 W, 2032 MHz, 48000 MiB, 80000 MiB, Not Active, Active\n"
      "2026/04/23 11:23:24.250, 0, 45 %, [N/A], 2032 MHz, 48000 MiB, 80000 MiB, Not Active, Active\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const auto series = [&](const char* id) {
    return *std::ranges::find(session->counters, std::string(id), &CounterSeries::id);
  };
  EXPECT_EQ(series("gpu_utilization").values, (std::vector<double>{0.42, 0.45}));
  EXPECT_EQ(series("gpu_utilization").times[1] - series("gpu_utilization").times[0], 250'000'000);
  EXPECT_TRUE(std::isnan(series("power").values[1]));
  EXPECT_EQ(series("sm_clock").values[0], 2032e6);
  EXPECT_EQ(series("memory_total").values[0], 80000.0 * 1024 * 1024);
  EXPECT_EQ(series("throttle_reasons").values[0], 0x40);
}

const CounterSeries& smi_series(const ProfileSession& session, std::string_view id, int device = 0) {
  const auto found = std::ranges::find_if(
      session.counters, [&](const CounterSeries& one) { return one.id == id && one.device == device; });
  static const CounterSeries kNone;
  EXPECT_NE(found, session.counters.end()) << id;
  return found == session.counters.end() ? kNone : *found;
}

TEST(NvidiaSmiQuery, understands_headers_of_the_users_own) {
  const auto session = read_text(
      "timestamp,index,name,gpu_utilization[%],memory.total[MiB],memory.used[MiB],memory.free[MiB],"
      "temperature[\xC2\xB0"
      "C],mood\n"
      "2025/05/25 00:13:19.084, 0, NVIDIA RTX A5000, 10, 24564, 11325, 12909, 72, good\n"
      "2025/05/25 00:13:20.102, 0, NVIDIA RTX A5000, 6, 24564, 11326, 12908, 70, bad\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  EXPECT_EQ(smi_series(*session, "gpu_utilization").values, (std::vector<double>{0.1, 0.06}));
  EXPECT_EQ(smi_series(*session, "memory_used").values[0], 11325.0 * 1024 * 1024);
  EXPECT_EQ(smi_series(*session, "temperature").values, (std::vector<double>{72, 70}));
  const auto issue = std::ranges::find(session->quality, "unknown_column", &DataQualityIssue::id);
  ASSERT_NE(issue, session->quality.end());
  EXPECT_EQ(issue->count, 1);
  EXPECT_EQ(issue->example, "mood");
}

TEST(NvidiaSmiQuery, understands_the_usual_spellings) {
  const auto value = [](const std::string& header, const std::string& cell, std::string_view id) {
    const auto session = read_text("time,gpu_id,gpu_temp," + header + "\n3.5,1,40," + cell + "\n");
    EXPECT_TRUE(session.ok()) << header;
    return session.ok() ? smi_series(*session, id, 1).values.at(0) : -1;
  };
  for (const char* header : {"GPU Util (%)", "gpu_util_pct", "utilization", "gpu-usage", "GPU %", "gpu_load"})
    EXPECT_DOUBLE_EQ(value(header, "42", "gpu_utilization"), 0.42) << header;
  EXPECT_DOUBLE_EQ(value("gpu_util", "42%", "gpu_utilization"), 0.42);
  for (const char* header : {"memory_used_mb", "Memory Used (MiB)", "used memory", "gpu_mem_used", "mem_usage_mb"})
    EXPECT_DOUBLE_EQ(value(header, "2", "memory_used"), 2097152) << header;
  EXPECT_DOUBLE_EQ(value("vram_used_gb", "2", "memory_used"), 2147483648.0);
  EXPECT_DOUBLE_EQ(value("mem total", "2 GiB", "memory_total"), 2147483648.0);
  EXPECT_DOUBLE_EQ(value("power_w", "70.5", "power"), 70.5);
  EXPECT_DOUBLE_EQ(value("Power Draw [mW]", "70500", "power"), 70.5);
  EXPECT_DOUBLE_EQ(value("sm_clock_mhz", "1980", "sm_clock"), 1.98e9);
}

TEST(NvidiaSmiQuery, reads_iso_times_and_the_gpu_column_of_scripts) {
  const auto session = read_text(
      "timestamp,gpu,index,memory.used,power.draw\n"
      "2024-01-31T12:00:00+08:00,0, 0, 4, 74.01\n"
      "2024-01-31T12:00:00+08:00,1, 0, 4, 73.01\n"
      "2024-01-31T04:00:01.5Z,0, 0, 4, 74.06\n"
      "2024-01-31 04:00:02,1, 0, 4, 74.06\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const std::int64_t second = 1706673600;
  EXPECT_EQ(smi_series(*session, "power", 0).times,
            (std::vector<std::int64_t>{second * 1'000'000'000, second * 1'000'000'000 + 1'500'000'000}));
  EXPECT_EQ(smi_series(*session, "power", 1).values.size(), 2U);
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].id, "local_time");
}

TEST(NvidiaSmiQuery, names_a_time_that_cannot_be_read) {
  const auto session = read_text("timestamp,index,power.draw\nyesterday,0,70\n");
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().what, testing::HasSubstr("'yesterday'"));
}

TEST(NvidiaSmiPmon, adds_up_the_processes_of_a_gpu) {
  const auto session = read_text(
      "# gpu        pid  type    sm   mem   enc   dec   command\n"
      "# Idx          #   C/G     %     %     %     %   name\n"
      "    0       1234     C    30    10     -     -   python\n"
      "    0       1235     C    12     4     -     -   python\n"
      "    0       1234     C    20    10     -     -   python\n"
      "    0       1235     C    10     4     -     -   python\n");
  ASSERT_TRUE(session.ok()) << session.error().what;
  const auto found = std::ranges::find(session->counters, std::string("gpu_utilization"), &CounterSeries::id);
  ASSERT_NE(found, session->counters.end());
  ASSERT_EQ(found->values.size(), 2U);
  EXPECT_NEAR(found->values[0], 0.42, 1e-9);
  EXPECT_NEAR(found->values[1], 0.30, 1e-9);
}

}  // namespace
}  // namespace warpmark::profile
