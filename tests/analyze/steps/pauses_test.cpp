// Long steps among others: pauses, which are left out, or steps of another kind.
#include <gtest/gtest.h>

#include "analyze/steps/steps.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::kTensorGemm;
using testing_support::TimelineScene;

Steps found_in(const Timeline& timeline) { return find_steps(timeline, list_work(timeline)); }

TEST(Pauses, have_a_name) {
  TimelineScene scene;
  for (int i = 0; i < 12; ++i) {
    scene.within("train_step", EventKind::annotation, [&] {
      for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 300'000);
      scene.synchronize();
      scene.idle_host(4'000'000);
    });
    if (i == 7) scene.range("save_checkpoint", 5'000'000'000);
  }
  const Timeline timeline = scene.build();
  const Steps steps = found_in(timeline);
  ASSERT_EQ(steps.pauses.size(), 1U);
  EXPECT_EQ(steps.pauses.front().name, "save_checkpoint");
  EXPECT_GE(steps.analyzed.size(), 5U);
  for (const StepSpan& span : steps.analyzed) EXPECT_LT(span.end_ns - span.start_ns, 11'000'000);
}

/// Steps of 2 ms; after every fifth `between` runs for 50 ms.
template <typename Between>
Steps with_recurring(Between between) {
  TimelineScene scene;
  for (int i = 0; i < 15; ++i) {
    scene.within("ProfilerStep#" + std::to_string(i), EventKind::annotation, [&] {
      for (int k = 0; k < 20; ++k) scene.launch(kTensorGemm, 100'000);
      scene.synchronize();
    });
    if (i % 5 == 4) between(scene);
  }
  return found_in(scene.build());
}

TEST(Pauses, may_recur) {
  const Steps steps = with_recurring([](TimelineScene& scene) { scene.range("save_checkpoint", 50'000'000); });
  ASSERT_EQ(steps.pauses.size(), 2U);
  EXPECT_EQ(steps.pauses.front().name, "save_checkpoint");
  for (const StepSpan& span : steps.analyzed) EXPECT_LT(span.end_ns - span.start_ns, 3'000'000);
}

TEST(Pauses, of_more_work_leave_the_profilers_steps) {
  const Steps steps = with_recurring([](TimelineScene& scene) {
    scene.within("validate", EventKind::python, [&] {
      for (int k = 0; k < 50; ++k) scene.launch("validation_kernel", 1'000'000);
      scene.synchronize();
    });
  });
  EXPECT_EQ(steps.found_by, "ProfilerStep annotations");
  EXPECT_EQ(steps.pauses.size(), 2U);
}

TEST(Pauses, are_no_waits_for_the_loader) {
  const Steps steps = with_recurring([](TimelineScene& scene) { scene.range("load_batch", 50'000'000); });
  EXPECT_TRUE(steps.pauses.empty());
}

}  // namespace
}  // namespace warpmark::analyze
