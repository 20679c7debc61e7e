#include "analyze/evidence/attribution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "analyze/evidence/evidence.h"
#include "support/sound_claims.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using namespace testing_support;

ProfileSession late_launches() {
  return session_of(stepped(6, [](TimelineScene& scene) {
    scene.dispatch_ns = 30'000;
    for (int i = 0; i < 20; ++i) scene.launch(kTensorGemm, 10'000);
    scene.synchronize();
  }));
}

TEST(Attributions, give_no_more_than_a_part_has) {
  const ProfileSession session = late_launches();
  const Facts facts = gather_facts(session);
  Attributions attributions(facts.rank());
  const double idle = facts.rank().part_ns(Part::idle_launch);
  ASSERT_GT(idle, 1000);
  EXPECT_EQ(attributions.attribute(AttributedTo::cpu_gpu_sync, {Part::idle_launch}, 300), 300);
  EXPECT_NEAR(attributions.attribute(AttributedTo::launch_overhead, {Part::idle_launch}, idle), idle - 300, 1);
  EXPECT_NEAR(attributions.left_ns(Part::idle_launch), 0, 1);
  EXPECT_NEAR(attributions.attribute(AttributedTo::optimizer, {Part::idle_launch}, 500), 0, 1);
}

TEST(Attributions, take_from_the_first_part_first) {
  const ProfileSession session = late_launches();
  const Facts facts = gather_facts(session);
  Attributions attributions(facts.rank());
  const double sync = facts.rank().part_ns(Part::idle_sync);
  EXPECT_EQ(attributions.attribute(AttributedTo::cpu_gpu_sync, {Part::idle_sync, Part::idle_launch}, sync + 700),
            sync + 700);
  EXPECT_NEAR(attributions.attributed_ns(AttributedTo::cpu_gpu_sync, Part::idle_sync), sync, 1);
  EXPECT_NEAR(attributions.attributed_ns(AttributedTo::cpu_gpu_sync, Part::idle_launch), 700, 1);
}

TEST(Attributions, take_nothing_where_nothing_is_lost) {
  const ProfileSession session = late_launches();
  const Facts facts = gather_facts(session);
  Attributions attributions(facts.rank());
  EXPECT_EQ(attributions.attribute(AttributedTo::data_loading, {Part::idle_launch}, -5), -5);
  EXPECT_EQ(attributions.left_ns(Part::idle_launch), attributions.whole_ns(Part::idle_launch));
}

/// A step of whatever makes programs slow, each more or less of the time, on each rank more or less of it.
void any_step(TimelineScene& scene, std::mt19937& random) {
  const auto upto = [&random](std::int64_t most) { return static_cast<std::int64_t>(random()) % most; };
  scene.dispatch_ns = 2'000 + upto(40'000);
  if (upto(2) == 0) scene.range("DataLoader.__next__", upto(3'000'000));
  if (upto(2) == 0)
    scene.copy(CopyKind::host_to_device, upto(2) == 0 ? HostMemory::pageable : HostMemory::pinned, 8 << 20,
               upto(900'000) + 1, upto(2) == 0);
  for (std::int64_t i = 5 + upto(40); i-- > 0;) {
    switch (upto(9)) {
      case 0: scene.launch("void at::native::vectorized_elementwise_kernel<4, Add>", 5'000 + upto(60'000)); break;
      case 1: scene.launch("sgemm_128x64_nn_float", 5'000 + upto(200'000)); break;
      case 2: scene.launch("void reduce_kernel<double*>(double const*)", 5'000 + upto(90'000)); break;
      case 3: scene.api("cudaMalloc", upto(300'000)); break;
      case 4: scene.synchronize(); break;
      case 5: scene.idle_host(upto(900'000)); break;
      case 6: scene.copy(CopyKind::device_to_host, HostMemory::pageable, 4, 2'000, true); break;
      default: scene.launch(kTensorGemm, 5'000 + upto(100'000));
    }
  }
  scene.within("Optimizer.step#AdamW.step", EventKind::annotation, [&] {
    for (std::int64_t i = upto(80); i-- > 0;) scene.launch("adam_of_one_parameter", 2'000 + upto(4'000));
  });
}

TEST(Attribution, gives_no_part_of_a_generated_step_away_twice) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const ProfileSession session = session_of(stepped(6, [&](TimelineScene& scene) { any_step(scene, random); }));
    expect_sound_claims(gather_evidence(session), "program " + std::to_string(seed));
  }
}

TEST(Attribution, gives_no_part_of_the_steps_of_generated_ranks_away_twice) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const ProfileSession session = on_ranks(2 + static_cast<int>(seed % 3), 6, [&](TimelineScene& scene, int rank) {
      any_step(scene, random);
      scene.launch(kAllReduce, 50'000 + static_cast<std::int64_t>(random()) % 2'000'000 * (rank == 0 ? 0 : 1));
    });
    expect_sound_claims(gather_evidence(session), "ranks " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace warpmark::analyze
