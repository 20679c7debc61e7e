// Ranks whose recordings begin at different collectives, on clocks that differ.
#include "analyze/recorded/ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::TimelineScene;

/// Two ranks that meet once a millisecond and a little more; the second comes 200 us late, its recording begins `later`
/// collectives late and its clock is 7 ms behind.
ProfileSession ranks_of(int collectives, int later) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    TimelineScene scene;
    for (int i = rank * later; i < collectives; ++i) {
      const std::int64_t start = 1'000'000 + i * 1'000'000 + i * i * 1'000 + (rank == 0 ? 0 : 200'000);
      scene.add({EventKind::kernel, start, 1'500'000 + i * 1'000'000 + i * i * 1'000 - (start - 1'000'000),
                 "ncclDevKernel_AllReduce", scene.stream(20)});
    }
    Timeline timeline = scene.build();
    timeline.origin_ns = rank == 0 ? 0 : -7'000'000;
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}

std::vector<const Timeline*> timelines_of(const ProfileSession& session) {
  std::vector<const Timeline*> timelines;
  for (const Timeline& one : session.ranks) timelines.push_back(&one);
  return timelines;
}

void expect_aligned(int collectives, int later) {
  const ProfileSession session = ranks_of(collectives, later);
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  const auto aligned = align_ranks(timelines_of(session), lists, programs_of(session, lists));
  EXPECT_TRUE(aligned[1].aligned);
  EXPECT_EQ(aligned[1].clock_offset_ns, 7'000'000);
  EXPECT_EQ(aligned[1].matched, collectives - later);
  // The first rank waited 200 us in each collective that both recorded, the second never.
  const auto met = static_cast<std::size_t>(later) + 7;
  EXPECT_EQ(aligned[0].wait_until[met] - lists[0].works[met].start, 200'000);
  EXPECT_EQ(aligned[1].wait_until[7], 0);
}

TEST(Ranks, are_aligned_though_clocks_differ_and_one_recording_began_later) { expect_aligned(40, 3); }

TEST(Ranks, are_aligned_though_one_is_hundreds_of_collectives_ahead) { expect_aligned(900, 300); }

/// Ten even steps of 10 ms whose clocks are five steps and 30 us apart: every shift fits.
ProfileSession even_ranks(bool numbered) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    TimelineScene scene;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t start = 1'000'000 + i * 10'000'000, late = rank == 0 ? 0 : 2'000'000;
      const auto id = static_cast<std::uint32_t>(i + 1);
      if (numbered)
        scene.add({EventKind::annotation, start - 100'000, 9'900'000, "ProfilerStep#" + std::to_string(3 + i)});
      scene.add({EventKind::runtime_api, start - 50'000, 5'000, "cudaLaunchKernel", TimelineScene::kHost, id});
      scene.add({EventKind::kernel, start + late, 4'000'000 - late, "ncclDevKernel_AllReduce", scene.stream(20), id});
    }
    Timeline timeline = scene.build();
    timeline.origin_ns = rank == 0 ? 0 : -50'030'000;
    session.ranks.push_back(std::move(timeline));
  }
  return session;
}

RankAlignment second_of(const ProfileSession& session) {
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  return align_ranks(timelines_of(session), lists, programs_of(session, lists))[1];
}

TEST(Ranks, are_aligned_by_the_numbers_of_their_steps) {
  const RankAlignment aligned = second_of(even_ranks(true));
  EXPECT_EQ(aligned.clock_offset_ns, 50'030'000) << "the clocks alone say 30 us";
  EXPECT_EQ(aligned.matched, 10);
}

TEST(Ranks, of_clocks_that_agree_are_aligned_by_them) {
  EXPECT_EQ(second_of(even_ranks(false)).clock_offset_ns, 30'000);
}

TEST(Ranks, of_clocks_that_differ_are_aligned_by_most_collectives) {
  ProfileSession session = even_ranks(false);
  session.ranks[1].origin_ns -= 3'000'000;
  EXPECT_EQ(second_of(session).clock_offset_ns, 53'030'000);
}

/// Two collectives a step, the second right after the first. The first ends 15 us later on the second rank, so that
/// the second of one rank and the first of the other scatter less, 2.6 ms apart.
TEST(Ranks, of_one_host_have_one_clock_though_kinds_of_collectives_end_unlike) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    TimelineScene scene;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t first_end = 20'000'000 + i * 34'000'000 + (rank == 1 ? 15'000 : 0);
      const std::int64_t second_end = 22'640'000 + i * 34'000'000 + (i % 2 == 0 ? 3'000 : 11'000);
      const std::int64_t first = rank == 0 ? 15'000'000 : 75'000;
      scene.add({EventKind::kernel, first_end - first, first, "ncclDevKernel_AllReduce", scene.stream(20)});
      scene.add({EventKind::kernel, second_end - 37'000, 37'000, "ncclDevKernel_AllReduce", scene.stream(20)});
    }
    session.ranks.push_back(scene.build());
  }
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  const auto aligned = align_ranks(timelines_of(session), lists, programs_of(session, lists));
  EXPECT_LT(std::abs(aligned[1].clock_offset_ns), 20'000);
  EXPECT_EQ(aligned[0].matched, 8);
  EXPECT_GT(aligned[0].wait_until[0] - lists[0].works[0].start, 14'000'000);
}

/// Two collectives a step of 27 ms, one right after the other, on two GPUs of one host; ends differ by a microsecond or
/// two, and steps by less.
TEST(Ranks, of_a_regular_program_are_aligned_by_the_nearest_of_collectives_that_fit_alike) {
  ProfileSession session;
  for (int rank = 0; rank < 2; ++rank) {
    TimelineScene scene;
    for (int i = rank; i < 6; ++i) {  // the second recording began a step later
      const std::int64_t end = 30'000'000 + i * 27'000'000 + (rank == 1 ? 700 * (i % 3) : 300 * (i % 2));
      const std::int64_t first = rank == 0 ? 4'000 : 25'000'000;
      scene.add({EventKind::kernel, end - first, first, "ncclDevKernel_Broadcast", scene.stream(20)});
      scene.add({EventKind::kernel, end + 5'000, 4'000, "ncclDevKernel_Broadcast", scene.stream(20)});
    }
    session.ranks.push_back(scene.build());
  }
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  const auto aligned = align_ranks(timelines_of(session), lists, programs_of(session, lists));
  EXPECT_LT(std::abs(aligned[1].clock_offset_ns), 5'000);
  EXPECT_GT(aligned[1].wait_until[0] - lists[1].works[0].start, 24'900'000);
}

std::vector<std::size_t> programs_in(const ProfileSession& session) {
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  return programs_of(session, lists);
}

TEST(Ranks, of_one_program_were_recorded_at_the_same_time) {
  ProfileSession session = ranks_of(40, 3);
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 0}));
  session.ranks[1].origin_ns += 20'000'000'000;
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 1}));
  session.ranks[0].host = "a";
  session.ranks[1].host = "b";  // whose clock may be wrong
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 0}));
}

TEST(Ranks, of_one_program_are_each_there_once_and_agree_on_how_many_they_are) {
  ProfileSession session = ranks_of(40, 3);
  session.ranks[0].rank = 0;
  session.ranks[1].rank = 1;
  session.ranks[0].world_size = session.ranks[1].world_size = 2;
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 0}));
  session.ranks[1].world_size = 4;
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 1}));
  session.ranks[1].world_size = 2;
  session.ranks[1].declared_rank = 0;
  EXPECT_EQ(programs_in(session), (std::vector<std::size_t>{0, 1}));
}

TEST(Ranks, of_different_programs_do_not_wait_for_one_another) {
  ProfileSession session = ranks_of(40, 3);
  session.ranks[1].origin_ns += 20'000'000'000;
  std::vector<WorkList> lists;
  for (const Timeline& timeline : session.ranks) lists.push_back(list_work(timeline));
  const auto aligned = align_ranks(timelines_of(session), lists, programs_of(session, lists));
  EXPECT_FALSE(aligned[1].aligned);
  EXPECT_TRUE(aligned[0].wait_until.empty());
}

}  // namespace
}  // namespace warpmark::analyze
