// Gradients that every micro-batch of a step reduces, and what reducing them once gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/cures/micro_batches.h"
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

/// Describes every collective kernel; `sizes` of them in turn, in elements.
void describe_collectives(Timeline& timeline, const std::vector<std::int64_t>& sizes) {
  std::size_t met = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events.kind[i] != EventKind::kernel || timeline.name_of(i) != kAllReduce) continue;
    Collective one;
    one.event = i;
    one.name = timeline.names.intern("allreduce");
    one.data_type = timeline.names.intern("Float");
    one.group_size = 2;
    one.in_elements = one.out_elements = sizes[met++ % sizes.size()];
    timeline.collectives.push_back(one);
  }
}

struct MicroBatch {
  int reductions = 0;  ///< of 1 ms each
  bool updates = false;
};

/// Steps of micro-batches: a pass of 4 ms each, reductions, and updates.
ProfileSession steps_of(const std::vector<MicroBatch>& micro_batches, const std::vector<std::int64_t>& sizes) {
  ProfileSession session = on_two_ranks(6, [&](TimelineScene& scene, int) {
    for (const MicroBatch& one : micro_batches) {
      scene.within("DistributedDataParallel.forward", EventKind::annotation, [&scene] {
        scene.within("aten::mm", EventKind::op, [&scene] {
          for (int i = 0; i < 40; ++i) scene.launch(kTensorGemm, 100'000);
        });
      });
      for (int i = 0; i < one.reductions; ++i) scene.launch(kAllReduce, 1'000'000);
      if (!one.updates) continue;
      scene.within("Optimizer.step#AdamW.step", EventKind::annotation,
                   [&scene] { scene.launch("void at::native::multi_tensor_apply_kernel<adamw>", 10'000); });
    }
    scene.synchronize();
  });
  for (Timeline& timeline : session.ranks) describe_collectives(timeline, sizes);
  return session;
}

const std::vector<std::int64_t> kBuckets = {1 << 20, 1 << 22};

int times(const ProfileSession& session) { return reductions_an_update(gather_evidence(session).rank()); }

TEST(MicroBatches, that_each_reduce_the_same_gradients_are_counted) {
  EXPECT_EQ(times(steps_of({{2}, {2, true}}, kBuckets)), 2);
  EXPECT_EQ(times(steps_of({{2}, {2}, {2}, {2}, {2}, {2}, {2}, {2, true}}, kBuckets)), 8);
}

TEST(MicroBatches, of_which_only_the_last_reduces_are_none) {
  EXPECT_EQ(times(steps_of({{0}, {2, true}}, kBuckets)), 1);
}

TEST(MicroBatches, are_not_several_updates_in_one_step) {
  EXPECT_EQ(times(steps_of({{2, true}, {2, true}, {2, true}}, kBuckets)), 1);
}

TEST(MicroBatches, are_not_two_models_that_take_turns) {
  EXPECT_EQ(times(steps_of({{2}, {2, true}}, {1 << 20, 1 << 22, 1 << 19, 1 << 23})), 1);
}

TEST(MicroBatches, are_not_told_from_losses_that_are_summed_up) {
  EXPECT_EQ(times(steps_of({{1}, {1, true}}, {1})), 1);
}

TEST(MicroBatches, are_not_told_from_activations_that_every_pass_sums_up) {
  EXPECT_EQ(times(steps_of({{2}, {2}, {3, true}}, {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 23})), 1);
}

TEST(MicroBatches, gain_what_reducing_once_saves) {
  const Analysis analysis = analyze(steps_of({{2}, {2, true}}, kBuckets));
  const Finding* finding = find(analysis, "multi_gpu_comm");
  testing_support::expect_gain(finding, 12.0 / 10.0);
  ASSERT_FALSE(finding->recommendations.empty());
  EXPECT_THAT(finding->recommendations.front().snippet, testing::HasSubstr("no_sync()"));
  EXPECT_LT(analysis.combined.high, 2.0) << "what is reduced once does not go";
}

}  // namespace
}  // namespace warpmark::analyze
