// What a kernel profiler measured, joined to the launches of a timeline.
#include "profile/read_session.h"

#include <gtest/gtest.h>

#include "support/timeline_scene.h"

namespace warpmark::profile {
namespace {

using testing_support::TimelineScene;

KernelProfile measured(const std::string& name, const std::string& grid, std::int64_t ordinal) {
  return {.name = name, .grid = grid, .block = "(256, 1, 1)", .ordinal = ordinal};
}

std::string joined_name(const ProfileSession& session, std::size_t kernel) {
  const auto& profile = session.kernels[kernel];
  if (profile.rank < 0) return "none";
  const Timeline& timeline = session.ranks[static_cast<std::size_t>(profile.rank)];
  return std::string(timeline.name_of(profile.event)) + " at " +
         std::to_string(timeline.events.start[profile.event] - 1'000'000);
}

/// Launches at 1004, 1009, 1014, ... us: one every 5 us, each reaching an idle GPU 4 us later.
ProfileSession session_with(const std::vector<std::pair<std::string, std::uint32_t>>& launches) {
  TimelineScene scene;
  for (const auto& [name, blocks] : launches) scene.launch(name, 500, blocks);
  ProfileSession session;
  session.ranks.push_back(scene.build());
  return session;
}

TEST(JoinKernels, goes_by_name_grid_and_ordinal) {
  auto session = session_with({{"void ns::gemm<float, 4>(float*, int)", 64},
                               {"softmax(float*)", 64},
                               {"void ns::gemm<float, 4>(float*, int)", 128},
                               {"void ns::gemm<float, 4>(float*, int)", 64}});
  session.kernels = {measured("void ns::gemm<float, (int)4>(float *, int)", "(64, 1, 1)", 1),
                     measured("void ns::gemm<float, (int)4>(float *, int)", "(128, 1, 1)", 0),
                     measured("softmax(float *)", "(64, 1, 1)", 0), measured("softmax(float *)", "(65, 1, 1)", 0),
                     measured("other(float *)", "(64, 1, 1)", 0)};
  join_kernels(session);
  EXPECT_EQ(joined_name(session, 0), "void ns::gemm<float, 4>(float*, int) at 19000");
  EXPECT_EQ(joined_name(session, 1), "void ns::gemm<float, 4>(float*, int) at 14000");
  EXPECT_EQ(joined_name(session, 2), "softmax(float*) at 9000");
  EXPECT_EQ(joined_name(session, 3), "none");
  EXPECT_EQ(joined_name(session, 4), "none");
}

TEST(JoinKernels, tells_instances_of_a_template_apart_where_both_tools_spell_them_alike) {
  auto session = session_with({{"void add<int>(int*)", 8}, {"void add<char>(char*)", 8}});
  session.kernels = {measured("void add<char>(char *)", "(8, 1, 1)", 0)};
  join_kernels(session);
  EXPECT_EQ(joined_name(session, 0), "void add<char>(char*) at 9000");
}

TEST(JoinKernels, begins_anew_where_the_profiler_saw_more_launches_than_the_timeline) {
  auto session = session_with({{"a()", 8}, {"a()", 8}});
  session.kernels = {measured("a()", "(8, 1, 1)", 5)};
  join_kernels(session);
  EXPECT_EQ(joined_name(session, 0), "a() at 9000");
}

TEST(JoinKernels, does_nothing_without_a_timeline) {
  ProfileSession session;
  session.kernels = {measured("a()", "(8, 1, 1)", 0)};
  join_kernels(session);
  EXPECT_EQ(session.kernels[0].rank, -1);
}

TEST(QualifiedName, ends_at_arguments_and_keeps_unnamed_namespaces) {
  EXPECT_EQ(qualified_name("void ns::(anonymous namespace)::f<int>(int)"), "ns::(anonymous namespace)::f");
  EXPECT_EQ(qualified_name("void ns::<unnamed>::f<ns::<unnamed>::X>(int)"), "ns::(anonymous namespace)::f");
  EXPECT_EQ(qualified_name("triton_poi_fused_0"), "triton_poi_fused_0");
  EXPECT_EQ(qualified_name(""), "");
}

/// A page of two launches.
std::vector<KernelProfile> page(std::int64_t process, const std::string& metric) {
  std::vector<KernelProfile> kernels{measured("a()", "(8, 1, 1)", 0), measured("b()", "(8, 1, 1)", 0)};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].id = static_cast<std::int64_t>(i);
    kernels[i].process = process;
    kernels[i].metrics.add("gpu__time_duration.sum", "ns", 1'000);
    kernels[i].metrics.add(metric, "%", 50);
  }
  return kernels;
}

TEST(JoinPages, counts_launches_once_that_two_pages_tell_of) {
  for (const std::int64_t process : {41, 42}) {  // one run for both pages, or one for each
    ProfileSession session;
    session.kernels = page(41, "of_one_page");
    auto other = page(process, "of_the_other");
    other[1].rules.push_back({"Occupancy"});
    join_pages(session, other);
    EXPECT_TRUE(other.empty());
    ASSERT_EQ(session.kernels.size(), 2U);
    EXPECT_EQ(session.kernels[1].metric("of_one_page"), 50);
    EXPECT_EQ(session.kernels[1].metric("of_the_other"), 50);
    EXPECT_EQ(session.kernels[1].metrics.size(), 3U);
    EXPECT_EQ(session.kernels[1].rules.size(), 1U);
  }
}

TEST(JoinPages, leaves_other_launches_and_other_ranks_alone) {
  ProfileSession session;
  session.kernels = page(41, "same");
  auto rank = page(42, "same");
  join_pages(session, rank);
  EXPECT_EQ(rank.size(), 2U) << "another process measured the same";
  auto longer = page(41, "other");
  longer.push_back(measured("c()", "(8, 1, 1)", 0));
  join_pages(session, longer);
  EXPECT_EQ(longer.size(), 3U);
}

}  // namespace
}  // namespace warpmark::profile
