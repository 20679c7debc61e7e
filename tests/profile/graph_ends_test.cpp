// Kernels of a graph's last recorded launch that bear the ends of a later one.
#include "profile/recording/graph_ends.h"

#include <gtest/gtest.h>

#include "support/timeline_scene.h"

namespace warpmark::profile {
namespace {

using testing_support::TimelineScene;

/// Launches of a graph of two kernels; those of the last one last `excess_ns` longer.
Timeline replays(int launches, std::int64_t excess_ns) {
  TimelineScene scene;
  LaunchShape shape;
  shape.graph_id = 5;
  scene.timeline().launch_shapes.push_back(shape);
  const std::uint32_t stream = scene.stream(7);
  for (int i = 0; i < launches; ++i) {
    const std::int64_t start = 1'000'000 + 100'000 * i;
    const std::int64_t excess = i + 1 == launches ? excess_ns : 0;
    const auto id = static_cast<std::uint32_t>(i + 1);
    scene.add({EventKind::kernel, start, 10'000 + excess, "gemm_fusion_dot", stream, id, 0, 1});
    scene.add({EventKind::kernel, start + 11'000, 4'000 + excess, "loop_add_fusion", stream, id, 0, 1});
  }
  return scene.build();
}

TEST(GraphEnds, of_a_later_launch_give_way_to_what_the_kernels_usually_take) {
  Timeline timeline = replays(6, 20'000'000);
  EXPECT_EQ(recording::fix_graph_ends(timeline), 2);
  EXPECT_EQ(timeline.events.duration[10], 10'000);
  EXPECT_EQ(timeline.events.duration[11], 4'000);
}

TEST(GraphEnds, stay_where_kernels_took_somewhat_longer_or_nothing_compares) {
  Timeline longer = replays(6, 900'000);
  EXPECT_EQ(recording::fix_graph_ends(longer), 0);
  EXPECT_EQ(longer.events.duration[10], 910'000);
  Timeline only = replays(1, 20'000'000);
  EXPECT_EQ(recording::fix_graph_ends(only), 0);
}

}  // namespace
}  // namespace warpmark::profile
