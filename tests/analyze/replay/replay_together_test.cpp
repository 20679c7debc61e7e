// Ranks that wait for one another, replayed together.
#include "analyze/replay/replay_together.h"

#include <gtest/gtest.h>

#include <array>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "support/analyzed.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::find;
using testing_support::kAllReduce;
using testing_support::kTensorGemm;
using testing_support::on_two_ranks;
using testing_support::TimelineScene;

constexpr std::int64_t kShort = 100'000, kLong = 1'000'000, kReduced = 50'000;

double together(const Evidence& evidence, const std::array<WhatIf, 2>& changes = {}) {
  const std::array<const Replay*, 2> ranks = {&evidence.ranks[0].replay, &evidence.ranks[1].replay};
  return step_together_ns(ranks, changes);
}

/// The first half of a step is long on one rank, the second on the other, and both meet after each.
ProfileSession in_turns() {
  return on_two_ranks(6, [](TimelineScene& scene, int rank) {
    for (int half = 0; half < 2; ++half) {
      const bool late = half == rank;
      scene.launch(kTensorGemm, late ? kLong : kShort);
      scene.launch(kAllReduce, kReduced + (late ? 0 : kLong - kShort));
    }
    scene.synchronize();
  });
}

TEST(ReplayTogether, ranks_that_are_late_in_turns_wait_for_one_another) {
  const ProfileSession session = in_turns();
  const Evidence evidence = gather_evidence(session);
  ASSERT_EQ(evidence.ranks.size(), 2U);
  const double alone = kLong + kShort + 2 * kReduced;
  const double waiting = 2 * (kLong + kReduced);
  for (const RankEvidence& rank : evidence.ranks) EXPECT_NEAR(rank.replay.step_ns(), alone, 0.05 * alone);
  EXPECT_NEAR(together(evidence), waiting, 0.05 * waiting);
  EXPECT_NEAR(evidence.base_step_ns, waiting, 0.05 * waiting);
}

TEST(ReplayTogether, a_collective_that_is_removed_holds_nobody) {
  const ProfileSession session = in_turns();
  const Evidence evidence = gather_evidence(session);
  std::array<WhatIf, 2> changes;
  for (std::size_t r = 0; r < 2; ++r) {
    const WorkList& list = evidence.ranks[r].list;
    changes[r].duration_scale.assign(list.works.size(), 1.0F);
    for (std::size_t i = 0; i < list.works.size(); ++i) {
      if (list.works[i].category == Category::communication) changes[r].duration_scale[i] = 0;
    }
  }
  EXPECT_NEAR(together(evidence, changes), kLong + kShort, 0.05 * kLong);
}

TEST(ReplayTogether, a_change_of_one_rank_is_felt_by_the_other) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.launch(kTensorGemm, rank == 1 ? kLong : kShort);
    scene.launch(kAllReduce, kReduced + (rank == 1 ? 0 : kLong - kShort));
    scene.synchronize();
  });
  const Evidence evidence = gather_evidence(session);
  std::array<WhatIf, 2> changes;
  const WorkList& list = evidence.ranks[1].list;
  changes[1].duration_scale.assign(list.works.size(), 1.0F);
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (list.works[i].category == Category::gemm) changes[1].duration_scale[i] = 0.5F;
  }
  EXPECT_NEAR(together(evidence), kLong + kReduced, 0.05 * kLong);
  EXPECT_NEAR(together(evidence, changes), 0.5 * kLong + kReduced, 0.05 * kLong);
}

/// One recording began later. What is played of the ranks is not the same: they do not meet.
TEST(ReplayTogether, a_rank_of_which_fewer_steps_are_known_is_not_taken_for_slow) {
  const auto body = [](TimelineScene& scene, int) {
    scene.launch(kTensorGemm, kLong);
    scene.launch(kAllReduce, kReduced);
    scene.synchronize();
  };
  ProfileSession session = on_two_ranks(12, body);
  session.ranks[1] = std::move(on_two_ranks(5, body).ranks[1]);
  const Evidence evidence = gather_evidence(session);
  ASSERT_NE(evidence.ranks[0].replay.steps(), evidence.ranks[1].replay.steps());
  EXPECT_NEAR(evidence.base_step_ns, kLong + kReduced, 0.05 * kLong);
}

/// Two groups of ranks may be launched in any order, each on a stream of its own. Neither rank waits for ever.
TEST(ReplayTogether, collectives_in_another_order_do_not_stop_it) {
  const ProfileSession session = on_two_ranks(6, [](TimelineScene& scene, int rank) {
    scene.launch(kTensorGemm, kShort);
    const std::int64_t first = rank == 0 ? 20 : 21, second = rank == 0 ? 21 : 20;
    scene.launch(kAllReduce, first == 20 ? kReduced : 2 * kReduced, 24, first);
    scene.launch(kAllReduce, second == 20 ? kReduced : 2 * kReduced, 24, second);
    scene.synchronize();
  });
  const Evidence evidence = gather_evidence(session);
  EXPECT_GT(together(evidence), kShort);
  EXPECT_LT(together(evidence), 10 * kShort);
}

}  // namespace
}  // namespace warpmark::analyze
