// What a way of doing a work gains over the plain one of the same session.
#include "report/results/speedups.h"

#include <gtest/gtest.h>

#include "report/results/build.h"
#include "report/sample_session.h"

namespace warpmark::report {
namespace {

Session two_ways(double flash_s, double standard_s, std::int64_t other_seq = 0) {
  SampleSession sample;
  const Cost cost{.flops = 1e9, .bytes = 1e6};
  const auto seq = std::int64_t{1024};
  sample.measured("attention", "cuda:0", {{"seq", seq}, {"dtype", "f32"}, {"impl", "flash"}}, cost, flash_s);
  sample.measured("attention", "cuda:0",
                  {{"seq", other_seq > 0 ? other_seq : seq}, {"dtype", "f32"}, {"impl", "standard"}}, cost, standard_s);
  return sample.finish();
}

TEST(SpeedUps, are_the_ratio_of_the_medians_with_an_interval) {
  const Session session = two_ways(1e-3, 4e-3);
  const auto found = speedups_of(session);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].parameter, "impl");
  EXPECT_EQ(found[0].baseline, "standard");
  EXPECT_NEAR(found[0].ratio, 4, 0.05);
  ASSERT_TRUE(found[0].interval);
  EXPECT_LT(found[0].interval->low, found[0].ratio);
  EXPECT_GT(found[0].interval->high, found[0].ratio);
  EXPECT_NEAR(found[0].interval->high, 4, 0.2);
}

TEST(SpeedUps, are_told_only_where_nothing_else_differs) {
  EXPECT_TRUE(speedups_of(two_ways(1e-3, 4e-3, 2048)).empty());
  Session wrong = two_ways(1e-3, 4e-3);
  wrong.runs[1].outcome = Outcome::failed;
  EXPECT_TRUE(speedups_of(wrong).empty()) << "a wrong result has no speed";
}

TEST(SpeedUps, set_each_precision_against_f32) {
  SampleSession sample;
  for (const char* dtype : {"f32", "bf16"}) {
    sample.measured("gemm", "cuda:0", {{"m", std::int64_t{1024}}, {"dtype", dtype}}, {.flops = 1e9, .bytes = 1e6},
                    std::string(dtype) == "f32" ? 2e-3 : 1e-3);
  }
  const Session session = sample.finish();
  const auto found = speedups_of(session);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].run, session.runs[1].index);
  EXPECT_EQ(found[0].baseline, "f32");
  bool section = false;
  for (const auto& part : build_report(session).sections) section = section || part.heading == "Speedups";
  EXPECT_TRUE(section);
}

}  // namespace
}  // namespace warpmark::report
