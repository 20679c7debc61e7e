// launch and transfer on the CPU.
#include <gtest/gtest.h>

#include "workloads/launch/wakeup.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

TEST(SleepingThread, answers_every_question) {
  SleepingThread sleeper;
  for (std::uint32_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(sleeper.ask().ok());
    ASSERT_EQ(sleeper.answered(), i);
  }
  EXPECT_EQ(sleeper.asked(), 200U);
}

TEST(SleepingThread, ends_while_asleep) {
  for (int i = 0; i < 20; ++i) SleepingThread sleeper;
}

TEST(LaunchOnCpu, notices_an_answer_that_never_came) {
  for (const char* kind : {"wakeup", "fork_join"}) {
    SCOPED_TRACE(kind);
    test::Prepared prepared("launch", {{"kind", kind}}, 1);
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(prepared->host_clock());
    for (int i = 0; i < 10; ++i) prepared.launch(0);
    EXPECT_EQ(prepared.check(0).value, 0);
    ASSERT_TRUE(prepared->poison().ok());
    EXPECT_GT(prepared.check(0).value, 0);
    prepared.launch(0);
    EXPECT_EQ(prepared.check(0).value, 0);
    EXPECT_NE(prepared.note("meaning"), "");
  }
}

TEST(LaunchOnCpu, refuses_the_kinds_of_a_gpu) {
  EXPECT_TRUE(test::support_on_cpu("launch", {{"kind", "wakeup"}}).available);
  const auto support = test::support_on_cpu("launch", {{"kind", "graph"}});
  EXPECT_FALSE(support.available);
  EXPECT_EQ(support.reason, "kind=graph is of a GPU");
}

TEST(Launch, refuses_the_kinds_of_a_cpu_on_a_gpu) {
  DeviceInfo gpu;
  gpu.backend = "cuda";
  const auto params = resolve_params(test::workload("launch").params, {{"kind", "wakeup"}});
  const auto support = test::workload("launch").supports(test::workload("launch"), gpu, *params);
  EXPECT_FALSE(support.available);
  EXPECT_EQ(support.reason, "kind=wakeup is of the CPU");
}

TEST(Launch, has_no_flops_and_no_bytes) {
  const auto cost = test::cost_of("launch", {});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->flops, 0);
  EXPECT_EQ(cost->bytes, 0);
}

TEST(Transfer, is_no_work_for_a_cpu) {
  const auto support = test::support_on_cpu("transfer", {});
  EXPECT_FALSE(support.available);
  EXPECT_EQ(support.reason, "the CPU has no host-device link");
  EXPECT_NE(support.hint, "");
}

TEST(TransferCost, counts_the_bytes_on_the_link) {
  for (const auto& [direction, bytes, footprint] :
       {std::tuple{"h2d", 4096.0, 4096}, {"d2h", 4096.0, 4096}, {"both", 8192.0, 8192}, {"d2d", 4096.0, 8192}}) {
    const auto cost = test::cost_of("transfer", {{"size", "4KiB"}, {"direction", direction}});
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(cost->bytes, bytes) << direction;
    EXPECT_EQ(cost->footprint_bytes, footprint) << direction;
    EXPECT_EQ(cost->link, direction);
  }
  EXPECT_EQ(test::cost_error("transfer", {{"size", "0"}}),
            "size is 0, but must be at least 1 | set size to 1 or more: --set size=...");
}

}  // namespace
}  // namespace warpmark::workloads
