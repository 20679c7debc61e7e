// Reference convergence points against the examples of MLPerf's rules and the order of rcp_checker.
#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "exchange/mllog/convergence.h"

namespace warpmark::exchange {
namespace {

/// The two examples of the appendix of training_rules.adoc.
TEST(Convergence, has_the_least_means_of_the_rules) {
  const ConvergenceRules rules{.spread = Spread::without_extremes};
  const auto first = reference_point(1, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, rules);
  ASSERT_TRUE(first.ok());
  EXPECT_DOUBLE_EQ(first->mean, 15.75);
  EXPECT_NEAR(first->spread, 0.43, 0.005);
  EXPECT_NEAR(first->minimum, 15.21, 0.005);
  EXPECT_NEAR(100 * (first->mean / first->minimum - 1), 3.53, 0.005);
  const auto second = reference_point(1, {20, 21, 21, 20, 22, 22, 21, 21, 20, 20}, rules);
  ASSERT_TRUE(second.ok());
  EXPECT_DOUBLE_EQ(second->mean, 20.75);
  EXPECT_NEAR(second->spread, 0.66, 0.005);
  EXPECT_NEAR(second->minimum, 19.93, 0.005);
  EXPECT_NEAR(100 * (second->mean / second->minimum - 1), 4.12, 0.005);
  const auto all = reference_point(1, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, {.spread = Spread::of_all});
  EXPECT_NEAR(all->spread, 0.78, 0.005);
  EXPECT_EQ(reference_point(1, {16, 16, 16, 16}, rules)->minimum, 16) << "no spread";
  EXPECT_FALSE(reference_point(1, {16, 16}, rules).ok());
}

ReferencePoint point(double batch, double mean) {
  const auto made = reference_point(batch, {mean - 1, mean, mean, mean, mean, mean, mean, mean, mean, mean + 1}, {});
  EXPECT_TRUE(made.ok());
  return *made;
}

TEST(Convergence, accepts_what_the_reference_explains_and_scales_what_is_faster) {
  const auto reference = *reference_point(256, {16, 14, 16, 17, 16, 16, 15, 16, 15, 16}, {});
  const auto as_slow = judge_convergence({reference}, 256, {16, 16, 16, 16, 16}, {});
  ASSERT_TRUE(as_slow.ok());
  EXPECT_TRUE(as_slow->accepted);
  EXPECT_EQ(as_slow->scale, 1);
  const auto faster = judge_convergence({reference}, 256, {15.4, 15.4, 15.4, 15.4, 15.4}, {});
  EXPECT_TRUE(faster->accepted);
  EXPECT_DOUBLE_EQ(faster->scale, 15.75 / 15.4);
  EXPECT_FALSE(judge_convergence({reference}, 256, {14, 14, 14, 14, 14}, {})->accepted);
  EXPECT_TRUE(judge_convergence({reference}, 256, {14, 14, 14, 14, 14}, {.allowance = 1})->accepted);
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(judge_convergence({reference}, 256, {16, 16, 16, 16, never}, {})->accepted);
  EXPECT_FALSE(judge_convergence({reference}, 256, {16, 16, 16, never, never}, {})->accepted);
}

TEST(Convergence, finds_a_point_for_other_batches) {
  const std::vector<ReferencePoint> points{point(100, 10), point(200, 20)};
  const auto middle = judge_convergence(points, 150, {15, 15, 15, 15, 15}, {});
  ASSERT_TRUE(middle.ok());
  EXPECT_TRUE(middle->accepted);
  EXPECT_TRUE(middle->point.between);
  EXPECT_DOUBLE_EQ(middle->point.mean, 15);
  EXPECT_TRUE(judge_convergence(points, 50, {10, 10, 10, 10, 10}, {})->accepted);
  EXPECT_FALSE(judge_convergence(points, 50, {9, 9, 9, 9, 9}, {})->accepted);
  EXPECT_FALSE(judge_convergence(points, 300, {99, 99, 99, 99, 99}, {})->accepted) << "beyond the reference";
}

TEST(Convergence, leaves_out_points_that_are_slower_than_their_neighbours_say) {
  const std::vector<ReferencePoint> points{point(50, 30), point(100, 10), point(150, 19), point(200, 20)};
  const auto pruned = judge_convergence(points, 150, {16, 16, 16, 16, 16}, {});
  EXPECT_TRUE(pruned->accepted);
  EXPECT_DOUBLE_EQ(pruned->point.mean, 15);
  EXPECT_FALSE(judge_convergence(points, 150, {16, 16, 16, 16, 16}, {.prune = false})->accepted);
  EXPECT_TRUE(judge_convergence(points, 50, {12, 12, 12, 12, 12}, {})->accepted) << "the point of 50 is none any more";
  EXPECT_FALSE(judge_convergence(points, 50, {12, 12, 12, 12, 12}, {.prune = false})->accepted);
}

/// Points 2 and 3 have the same mean; only the spread differs, which does not make one faster.
TEST(Convergence, keeps_a_point_without_spread) {
  const std::vector<ReferencePoint> points{*reference_point(32, {9, 10, 10, 10, 10, 11}, {}),
                                           *reference_point(64, {10, 10, 10, 10, 10, 10}, {}), point(128, 12)};
  const auto verdict = judge_convergence(points, 64, {10, 10, 10, 10, 10}, {});
  EXPECT_TRUE(verdict->accepted);
  EXPECT_FALSE(verdict->point.between);
  EXPECT_DOUBLE_EQ(verdict->point.mean, 10);
  EXPECT_DOUBLE_EQ(verdict->scale, 1);
  EXPECT_FALSE(judge_convergence(points, 64, {9.99, 9.99, 9.99, 9.99, 9.99}, {})->accepted);
}

TEST(Convergence, reads_points_as_the_reference_has_them) {
  for (const char* unit : {"Epochs to converge", "samples to converge"}) {
    const Json file = {{"resnet_ref_256",
                        {{"Benchmark", "resnet"},
                         {"BS", 256},
                         {"Hyperparams", Json::object()},
                         {unit, {16, 14, 16, 17, 16, 16, 15}}}}};
    const auto points = read_references(file, "rcps.json", "resnet", {});
    ASSERT_TRUE(points.ok()) << unit;
    EXPECT_DOUBLE_EQ(points->front().mean, 15.8);
    EXPECT_FALSE(read_references(file, "rcps.json", "bert", {}).ok());
  }
  EXPECT_FALSE(read_references(Json::array(), "rcps.json", "bert", {}).ok());
  EXPECT_FALSE(read_references({{"x", 3}}, "rcps.json", "bert", {}).ok());
}

}  // namespace
}  // namespace warpmark::exchange
