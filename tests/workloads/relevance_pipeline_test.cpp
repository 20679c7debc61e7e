#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/round.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

TEST(RelevancePipeline, runs_all_stages_and_tells_each) {
  const auto& workload = test::workload("relevance_pipeline");
  const auto params =
      resolve_params(workload.params, {{"batch", "2"}, {"side", "64"}, {"d", "8"}, {"k", "3"}, {"budget", "1600"}});
  ASSERT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  measure::RoundOptions options;
  options.stopping.budget_s = 0.05;
  options.warmup.cap_s = 0.02;
  const auto run = measure::measure_round({&workload, "cpu", *params, Mode::hot}, **device, options);
  // How quiet the machine is is not the test's business.
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::mistrusted) << run.reason;
  EXPECT_EQ(run.workload, "relevance_pipeline");
  EXPECT_LE(run.error->value, 1);
  EXPECT_GT(run.error->value, 0) << "results in f32 differ from fp64 somewhere";
  std::vector<std::string> names;
  for (const auto& metric : run.metrics) {
    names.push_back(metric.id);
    EXPECT_GT(metric.summary.median, 0) << metric.id;
  }
  for (const char* id : {"time", "samples_rate", "stage.texture", "stage.balance", "stage.top_k"}) {
    EXPECT_THAT(names, testing::Contains(id));
  }
  EXPECT_NEAR(run.metrics.front().samples.front() * run.metrics[3].samples.front(), 2, 1e-9) << run.metrics[3].id;
}

TEST(RelevancePipeline, costs_what_its_stages_cost) {
  const auto whole = test::cost_of("relevance_pipeline", {});
  ASSERT_TRUE(whole.ok());
  const auto texture = test::cost_of("fused_texture", {});
  const auto balance = test::cost_of("opponent_balance", {});
  const auto top_k = test::cost_of("top_k_patches", {});
  EXPECT_DOUBLE_EQ(whole->bytes, texture->bytes + balance->bytes + top_k->bytes);
  EXPECT_DOUBLE_EQ(whole->flops, texture->flops + balance->flops + top_k->flops);
}

TEST(RelevancePipeline, refuses_what_a_stage_refuses) {
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"side", "100"}}), HasSubstr("divide by 16"));
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"k", "500"}}), HasSubstr("n=196"));
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"budget", "10"}}), HasSubstr("64"));
}

}  // namespace
}  // namespace warpmark::workloads
