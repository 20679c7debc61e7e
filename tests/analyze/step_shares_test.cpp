#include "analyze/step_shares.h"

#include <gtest/gtest.h>

#include "support/analyzed.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::on_two_ranks;
using testing_support::session_of;
using testing_support::stepped;
using testing_support::TimelineScene;

double sum_of(const StepShares& shares) {
  return shares.communication_s + shares.imbalance_s + shares.loading_s + shares.host_s + shares.rest_s;
}

TEST(StepShares, of_one_gpu_are_loading_host_and_rest) {
  const auto shares = step_shares(session_of(stepped(6, [](TimelineScene& scene) {
    scene.range("enumerate(DataLoader)", 5'000'000);
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
  })));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_NEAR(sum_of(*shares), shares->step_s, 1e-9);
  EXPECT_NEAR(shares->compute_s, 1e-3, 1e-4);
  EXPECT_GT(shares->loading_s, 4e-3);
  ASSERT_TRUE(shares->loading_host_s);
  EXPECT_NEAR(*shares->loading_host_s, 5e-3, 1e-4);
  EXPECT_EQ(shares->communication_s, 0);
  EXPECT_LT(shares->utilization, 0.3);
  EXPECT_EQ(shares->ranks, 1);
  EXPECT_EQ(shares->late_rank, -1);
}

TEST(StepShares, of_two_ranks_of_which_one_has_more_work_are_imbalance) {
  const auto shares = step_shares(on_two_ranks(6, [](TimelineScene& scene, int rank) {
    for (int i = 0; i < 4; ++i) scene.launch(kTensorGemm, rank == 0 ? 100'000 : 300'000);
  }));
  ASSERT_TRUE(shares.ok()) << shares.error().what;
  EXPECT_EQ(shares->ranks, 2);
  EXPECT_NEAR(sum_of(*shares), shares->step_s, 1e-9);
}

TEST(StepShares, are_not_of_nothing) {
  const auto none = step_shares(ProfileSession());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().what.find("no steps"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::analyze
