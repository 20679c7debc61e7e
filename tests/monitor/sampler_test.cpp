// What a machine did between two looks, and how it is logged.
#include "monitor/sampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "support/fake_tree.h"
#include "support/schema_check.h"

namespace warpmark::monitor {
namespace {

using device::nvml::GpuActivity;
using device::nvml::GpuFacts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One look a second, from the second second on.
Moment at(int second) { return {1'800'000'000'000'000'000 + second * 1'000'000'000LL, (second + 5) * 1'000'000'000LL}; }

class MonitorSampler : public ::testing::Test {
 protected:
  MonitorSampler() {
    cpu_ticks(100, 900);
    tree_.file("proc/loadavg", "1.25 0.5 0.2 1/100 4242\n")
        .file("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable:  400 kB\n");
    facts_.uuid = "GPU-0";
    facts_.name = "Fake H100";
    facts_.memory_bytes = 80'000;
    facts_.power_limit_w = 700;
  }

  void cpu_ticks(int busy, int idle) {
    tree_.file("proc/stat", fmt::format("cpu {0} 0 0 {1} 0 0 0 0\ncpu0 {0} 0 0 {1} 0 0 0 0\n", busy, idle));
  }
  void process(int id, int ticks, int pages, int started = 7) {
    tree_.file(
        fmt::format("proc/{}/stat", id),
        fmt::format("{} (p{}) S 1 1 1 0 -1 0 1 2 3 4 {} 0 0 0 20 0 3 0 {} 0 {} 0 0", id, id, ticks, started, pages));
    tree_.file(fmt::format("proc/{}/cmdline", id), fmt::format("program {}", id));
  }
  GpuSource gpus() {
    return {[this]() -> Result<std::vector<GpuFacts>> { return std::vector{facts_}; },
            [this](const std::string&) -> Result<GpuActivity> {
              if (lost_) return environment_error("GPU is lost", "");
              return activity_;
            },
            [this](const std::string&) -> Result<device::nvml::PcieBytes> {
              if (!counts_pcie_) return unsupported_error("no counters");
              pcie_.sent += 1'000'000;
              return pcie_;
            }};
  }
  static GpuSource no_gpus() {
    return {[]() -> Result<std::vector<GpuFacts>> { return environment_error("NVML was not found", ""); },
            [](const std::string&) -> Result<GpuActivity> { return environment_error("no", ""); }, nullptr};
  }
  [[nodiscard]] SamplerOptions options() const { return {.root = tree_.root(), .host = "here", .process_share = 1e6}; }

  test::FakeTree tree_;
  GpuFacts facts_;
  GpuActivity activity_;
  device::nvml::PcieBytes pcie_;
  bool counts_pcie_ = true;
  bool lost_ = false;
};

TEST_F(MonitorSampler, tells_rates_from_the_second_look_on) {
  Sampler sampler(options(), no_gpus());
  const auto first = sampler.sample(at(0));
  EXPECT_FALSE(first.host.utilization);
  EXPECT_EQ(first.host.cpus, 1);
  EXPECT_EQ(first.host.memory_bytes, 1'024'000);
  EXPECT_EQ(first.host.memory_used_bytes, 614'400);
  EXPECT_DOUBLE_EQ(*first.host.load_average, 1.25);
  EXPECT_EQ(first.gpu_problem, "NVML was not found");
  cpu_ticks(130, 970);
  const auto second = sampler.sample(at(1));
  EXPECT_DOUBLE_EQ(*second.host.utilization, 0.3);
  EXPECT_THAT(second.host.cpu_utilization, ElementsAre(0.3));
}

TEST_F(MonitorSampler, turns_byte_counters_into_rates_and_leaves_reset_ones_out) {
  activity_.nvlink_sent_bytes = 1'000;
  activity_.nvlink_received_bytes = 5'000;
  activity_.clock_event_reasons = std::vector<std::string>{"gpu_idle", "sw_power_cap"};
  Sampler sampler(options(), gpus());
  EXPECT_FALSE(sampler.sample(at(0)).gpus.at(0).nvlink_sent);
  activity_.nvlink_sent_bytes = 5'000;
  activity_.nvlink_received_bytes = 10;
  const auto state = sampler.sample(at(2));
  const auto& gpu = state.gpus.at(0);
  EXPECT_DOUBLE_EQ(*gpu.nvlink_sent, 2'000);
  EXPECT_FALSE(gpu.nvlink_received) << "the driver was loaded anew";
  EXPECT_THAT(gpu.slowed_by, ElementsAre("sw_power_cap"));
  EXPECT_DOUBLE_EQ(*gpu.power_limit_w, 700);
}

TEST_F(MonitorSampler, tells_pcie_traffic_over_a_part_of_each_look) {
  pcie_.sent = 0xFFFFFF00U;  // it wraps meanwhile
  Sampler sampler(options(), gpus());
  const auto gpu = sampler.sample(at(0)).gpus.at(0);
  ASSERT_TRUE(gpu.pcie_sent);
  EXPECT_LE(*gpu.pcie_sent, 1e6 / 0.02);
  EXPECT_GT(*gpu.pcie_sent, 1e6 / 0.05 * 0.9);
  EXPECT_EQ(*gpu.pcie_received, 0);
  counts_pcie_ = false;
  EXPECT_FALSE(sampler.sample(at(1)).gpus.at(0).pcie_sent);
}

TEST_F(MonitorSampler, lists_a_gpu_that_fell_off_the_bus_and_welcomes_it_back) {
  activity_.nvlink_sent_bytes = 1'000;
  activity_.utilization = 0.5;
  Sampler sampler(options(), gpus());
  (void)sampler.sample(at(0));
  lost_ = true;
  const auto lost = sampler.sample(at(1));
  ASSERT_EQ(lost.gpus.size(), 1U);
  EXPECT_EQ(lost.gpus[0].name, "Fake H100");
  EXPECT_FALSE(lost.gpus[0].utilization);
  lost_ = false;
  const auto back = sampler.sample(at(2));
  EXPECT_TRUE(back.gpus[0].utilization);
  EXPECT_FALSE(back.gpus[0].nvlink_sent) << "nobody knows since when it counts";
}

TEST_F(MonitorSampler, shows_users_of_gpus_first_then_those_that_work_most) {
  const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int id = 10; id < 15; ++id) process(id, 0, 1);
  auto few = options();
  few.processes = 2;
  activity_.processes = {{11, 4096}, {999, std::nullopt}};
  Sampler sampler(few, gpus());
  (void)sampler.sample(at(0));
  process(13, static_cast<int>(ticks_per_s) * 2, 1);
  process(14, static_cast<int>(ticks_per_s), 1);
  const auto state = sampler.sample(at(1));
  ASSERT_EQ(state.processes.size(), 4U);
  EXPECT_EQ(state.processes[0].id, 11);
  EXPECT_EQ(state.processes[0].gpus.at(0).memory_bytes, 4096);
  EXPECT_EQ(state.processes[1].id, 999) << "in another container";
  EXPECT_EQ(state.processes[1].command, "");
  EXPECT_EQ(state.processes[2].id, 13);
  EXPECT_DOUBLE_EQ(*state.processes[2].cores, 2);
  EXPECT_EQ(state.processes[2].command, "program 13");
  EXPECT_EQ(state.processes[3].id, 14);
}

TEST_F(MonitorSampler, does_not_mix_up_processes_that_bear_one_number) {
  process(10, 500, 1, 7);
  Sampler sampler(options(), no_gpus());
  (void)sampler.sample(at(0));
  process(10, 900, 1, 8888);
  const auto state = sampler.sample(at(1));
  ASSERT_EQ(state.processes.size(), 1U);
  EXPECT_FALSE(state.processes[0].cores);
}

TEST_F(MonitorSampler, reads_processes_less_often_where_that_costs_much) {
  process(10, 0, 1);
  auto thrifty = options();
  thrifty.process_share = 1e-12;  // any look is too dear
  Sampler sampler(thrifty, no_gpus());
  (void)sampler.sample(at(0));
  process(10, 10, 1);
  EXPECT_FALSE(sampler.sample(at(1)).processes.at(0).cores);
}

TEST_F(MonitorSampler, is_logged_as_its_schema_says) {
  process(10, 0, 1);
  activity_.utilization = 0.5;
  activity_.power_w = 350.5;
  activity_.processes = {{10, 4096}, {999, std::nullopt}};
  Sampler sampler(options(), gpus());
  (void)sampler.sample(at(0));
  cpu_ticks(130, 970);
  const auto state = sampler.sample(at(1));
  EXPECT_EQ(testing_support::schema_errors(to_json(state), "monitor.schema.json"), "");
  EXPECT_EQ(testing_support::schema_errors(to_json(Sampler(options(), no_gpus()).sample(at(0))), "monitor.schema.json"),
            "");
  WM_NEEDS_SCHEMAS();
  EXPECT_NE(testing_support::schema_errors({{"schema", "warpmark.monitor/1"}}, "monitor.schema.json"), "");
}

TEST_F(MonitorSampler, is_logged_as_a_table_whose_rows_have_all_columns) {
  facts_.name = "odd, \"GPU\"";
  activity_.utilization = 0.5;
  Sampler sampler(options(), gpus());
  const auto rows = split(csv_rows(sampler.sample(at(0))), '\n');
  ASSERT_EQ(rows.size(), 3U) << "host, GPU, and the end of the last line";
  const auto columns = split(trim(csv_header()), ',').size();
  EXPECT_EQ(split(rows[0], ',').size(), columns);
  EXPECT_THAT(rows[0], HasSubstr("1800000000.000,host,here,,"));
  EXPECT_THAT(rows[1], HasSubstr("1800000000.000,gpu0,\"odd, \"\"GPU\"\"\",0.5,"));
  EXPECT_EQ(split(rows[1], ',').size(), columns + 1) << "the name has a comma";
}

}  // namespace
}  // namespace warpmark::monitor
