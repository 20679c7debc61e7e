// What a work on one stream waited for on another: found as a look at all streams would find it.
#include "analyze/replay/replay.h"

#include <gtest/gtest.h>

#include <random>

#include "analyze/evidence/evidence.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::session_of;
using testing_support::TimelineScene;

/// Works on many streams that begin when others end, at round numbers, so that many end together.
ProfileSession of_streams(unsigned seed, std::int64_t streams) {
  std::mt19937 random(seed);
  TimelineScene scene;
  std::vector<std::int64_t> end(static_cast<std::size_t>(streams), 1'000'000);
  std::int64_t now = 1'000'000;
  for (std::uint32_t id = 1; id <= 600; ++id) {
    const auto own = static_cast<std::size_t>(random() % static_cast<unsigned>(streams));
    const auto other = static_cast<std::size_t>(random() % static_cast<unsigned>(streams));
    const std::int64_t start = std::max({now + 4'000, end[own], end[other]});
    const std::int64_t length = 1'000 * static_cast<std::int64_t>(random() % 12);
    scene.add({EventKind::runtime_api, now, 2'000, "cudaLaunchKernel", TimelineScene::kHost, id});
    scene.add({EventKind::kernel, start, length, "kernel", scene.stream(7 + static_cast<std::int64_t>(own)), id});
    end[own] = start + length;
    now += 3'000;
  }
  return session_of(scene.build());
}

/// The rule by itself: of the last two works of each other stream that began before it and were launched before it, the
/// one that ended last, but after its own stream was free, at most 1.5 us after it began and 12 us before.
std::vector<std::int32_t> searched(const RankEvidence& rank) {
  const auto& works = rank.replay.works();
  const auto work_of = [&](std::size_t i) -> const GpuWork& { return rank.list.works[works[i].work]; };
  std::vector<std::size_t> order(works.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return work_of(a).start < work_of(b).start; });
  std::vector<std::vector<std::size_t>> begun(100);
  std::vector<std::int32_t> found(works.size(), -1);
  for (const std::size_t i : order) {
    const std::int64_t start = work_of(i).start;
    auto& own = begun[works[i].stream];
    std::int64_t latest = own.empty() ? 0 : work_of(own.back()).end;
    for (const auto& stream : begun) {
      if (&stream == &own) continue;
      for (std::size_t back = 1; back <= std::min<std::size_t>(2, stream.size()); ++back) {
        const std::size_t at = stream[stream.size() - back];
        const std::int64_t end = work_of(at).end;
        if (at >= i || end > start + kUnrecordedLaunchNs || end <= latest || start - end > 3 * kLatencyNs) continue;
        latest = end;
        found[i] = static_cast<std::int32_t>(at);
      }
    }
    own.push_back(i);
  }
  return found;
}

TEST(Replay, finds_the_work_of_another_stream_that_was_waited_for) {
  int waits = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const ProfileSession session = of_streams(seed, 1 + seed % 40);
    const Evidence evidence = gather_evidence(session);
    ASSERT_TRUE(evidence.has_timeline());
    const std::vector<std::int32_t> expected = searched(evidence.rank());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(evidence.rank().replay.works()[i].waits_for, expected[i]) << "seed " << seed << ", work " << i;
      waits += expected[i] >= 0;
    }
  }
  EXPECT_GT(waits, 1000);
}

}  // namespace
}  // namespace warpmark::analyze
