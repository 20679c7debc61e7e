// What makes a whole analysis doubtful stands at its top.
#include "analyze/cautions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/analyze.h"
#include "analyze/evidence/evidence.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::kTensorGemm;
using testing_support::session_of;
using testing_support::stepped;
using testing_support::TimelineScene;

Timeline training() {
  return stepped(6, [](TimelineScene& scene) {
    for (int i = 0; i < 10; ++i) scene.launch(kTensorGemm, 100'000);
  });
}

TEST(Cautions, are_none_about_a_whole_file) {
  const Analysis analysis = analyze(session_of(training()));
  EXPECT_THAT(analysis.cautions, IsEmpty());
  EXPECT_THAT(analysis.verdict, Not(HasSubstr("left of it")));
}

TEST(Cautions, name_a_cut_file_and_what_is_missing) {
  ProfileSession session = session_of(training());
  session.ranks[0].quality.push_back({"cut_archive", "the gzip data ends in the middle", 1, ""});
  const Analysis analysis = analyze(session);
  EXPECT_THAT(analysis.verdict, HasSubstr("The file is cut off; of what is left of it: "));
  EXPECT_THAT(analysis.cautions, ElementsAre(HasSubstr("scene is cut off: 67 events of the host and 60 of the GPU")));
}

TEST(Cautions, do_not_say_that_a_program_left_the_gpu_alone_whose_file_is_cut) {
  TimelineScene scene;
  for (int i = 0; i < 3; ++i) scene.api("cudaLaunchKernel", 2'000);
  ProfileSession session = session_of(scene.build());
  session.ranks[0].quality.push_back({"unfinished_file", "the list of events has no end", 1, ""});
  const Analysis analysis = analyze(session);
  EXPECT_THAT(analysis.verdict, HasSubstr("is cut off: what the GPU did is not in what is left of it"));
  EXPECT_THAT(analysis.cautions, ElementsAre(HasSubstr("Of 3 launches, what the GPU did for all of them is missing")));
  ASSERT_FALSE(analysis.missing.empty());
  EXPECT_THAT(analysis.missing[0].how, HasSubstr("copy it again"));
}

TEST(Cautions, call_a_corrupt_file_corrupt_and_not_cut) {
  ProfileSession session = session_of(training());
  session.ranks[0].quality.push_back({"corrupt_chunk", "the recording is corrupt", 1, ""});
  const Analysis analysis = analyze(session);
  EXPECT_THAT(analysis.verdict, HasSubstr("The file is corrupt"));
  EXPECT_THAT(analysis.cautions, ElementsAre(HasSubstr("is corrupt")));
}

TEST(Cautions, stand_at_the_top_of_what_changed_too) {
  ProfileSession whole = session_of(training()), cut = session_of(training());
  cut.ranks[0].quality.push_back({"torn_chunk", "the recording ends within a chunk", 1, ""});
  EXPECT_THAT(diff(whole, whole).tables[0].note, Not(HasSubstr("Caution")));
  EXPECT_THAT(diff(cut, whole).tables[0].note, HasSubstr("Caution, of the earlier profile: scene is cut off"));
  EXPECT_THAT(diff(whole, cut).tables[0].note, HasSubstr("Caution, of the later profile: scene is cut off"));
}

TEST(Cautions, tell_profiles_of_several_programs_and_compare_nothing_between_them) {
  const auto reducing = [](TimelineScene& scene, int rank) {
    scene.launch(kTensorGemm, rank == 0 ? 100'000 : 900'000);
    scene.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", rank == 0 ? 900'000 : 100'000, 24);
  };
  ProfileSession session = testing_support::on_two_ranks(8, reducing);
  const auto is_imbalance = [](const Finding& one) { return one.rule == "load_imbalance"; };
  EXPECT_TRUE(std::ranges::any_of(analyze(session).findings, is_imbalance));
  session.ranks[1].origin_ns += 600'000'000'000;
  const Analysis analysis = analyze(session);
  EXPECT_THAT(analysis.cautions,
              ElementsAre(HasSubstr("of 2 runs, not of one, as they were recorded at different times")));
  EXPECT_FALSE(std::ranges::any_of(analysis.findings, is_imbalance));
  for (const BreakdownPart& part : analysis.breakdown) EXPECT_NE(part.id, "idle_waiting_for_rank");
}

/// Four ranks of one program, whose recordings began these seconds after the first; their hosts are not known.
std::vector<std::string> cautions_of_ranks_at(std::vector<std::int64_t> seconds) {
  ProfileSession session;
  for (std::size_t r = 0; r < seconds.size(); ++r) {
    session.ranks.push_back(training());
    session.ranks[r].rank = static_cast<int>(r);
    session.ranks[r].world_size = static_cast<int>(seconds.size());
    session.ranks[r].origin_ns = seconds[r] * 1'000'000'000;
  }
  return analyze(session).cautions;
}

TEST(Cautions, are_not_told_of_hosts_whose_clocks_differ) {
  EXPECT_THAT(cautions_of_ranks_at({0, 5, 0, 5}), testing::IsEmpty());
  EXPECT_THAT(cautions_of_ranks_at({0, 80, 40, 120}), testing::IsEmpty()) << "whatever the order of the ranks";
  EXPECT_THAT(cautions_of_ranks_at({0, 0, 600, 600}), ElementsAre(HasSubstr("of 2 runs")));
}

TEST(Cautions, join_what_was_recorded_nearest_to_each_other) {
  ProfileSession session;
  for (const auto& [rank, seconds] : {std::pair{0, 0}, std::pair{0, 20}, std::pair{1, 20}, std::pair{1, 0}}) {
    session.ranks.push_back(training());
    session.ranks.back().rank = rank;
    session.ranks.back().world_size = 2;
    session.ranks.back().origin_ns = seconds * 1'000'000'000LL;
  }
  EXPECT_THAT(gather_evidence(session).programs, ElementsAre(0, 1, 1, 0));
}

/// Steps of 10 ms whose one kernel begins so much after its launch.
Timeline beginning_after(std::int64_t ns) {
  TimelineScene scene;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::int64_t begin = 5'000'000 + i * 10'000'000;
    scene.add({EventKind::annotation, begin - 10'000, 9'990'000, "ProfilerStep#" + std::to_string(i)});
    scene.add({EventKind::runtime_api, begin, 5'000, "cudaLaunchKernel", TimelineScene::kHost, i + 1});
    scene.add({EventKind::kernel, begin + ns, 4'000'000, kTensorGemm, scene.stream(7), i + 1});
  }
  return scene.build();
}

TEST(Cautions, say_that_the_clocks_of_host_and_gpu_differ) {
  EXPECT_THAT(
      analyze(session_of(beginning_after(-2'000'000))).cautions,
      ElementsAre(HasSubstr("6 of 6 kernels and copies begin before the call that launched them, by up to 2.0")));
  EXPECT_THAT(analyze(session_of(beginning_after(-50'000))).cautions, IsEmpty()) << "half a percent of the step";
  EXPECT_THAT(analyze(session_of(beginning_after(10'000))).cautions, IsEmpty());
}

/// Two processes that number their launches from 1, or from `second`.
Analysis of_two_processes(std::uint32_t second) {
  TimelineScene scene;
  scene.timeline().tracks.push_back({.kind = TrackKind::cpu_thread, .process = 600, .thread = 600});
  const auto other = static_cast<std::uint32_t>(scene.timeline().tracks.size() - 1);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::int64_t begin = 5'000'000 + i * 10'000'000;
    for (const auto& [track, id] : {std::pair(TimelineScene::kHost, i + 1), std::pair(other, second + i)}) {
      scene.add({EventKind::runtime_api, begin, 5'000, "cudaLaunchKernel", track, id});
      scene.add({EventKind::kernel, begin + 10'000, 4'000'000, kTensorGemm, scene.stream(7), id});
    }
  }
  return analyze(session_of(scene.build()));
}

TEST(Cautions, say_that_processes_share_the_ids_of_their_launches) {
  EXPECT_THAT(of_two_processes(1).cautions, testing::Contains(HasSubstr("use the same 6 correlation ids")));
  EXPECT_THAT(of_two_processes(100).cautions, Not(testing::Contains(HasSubstr("correlation ids"))));
}

}  // namespace
}  // namespace warpmark::analyze
