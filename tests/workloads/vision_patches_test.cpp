#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "workloads/run_workload.h"
#include "workloads/vision/inputs.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/score_order.h"

namespace warpmark::workloads {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(TopKReference, sorts_by_relevance_then_index) {
  EXPECT_THAT(vision::top_k_reference(std::vector<float>{1, 3, 3, 2, 3}, 4), ElementsAre(1, 2, 4, 3));
}

TEST(TopKReference, puts_nan_below_everything_and_ties_both_zeros) {
  EXPECT_THAT(vision::top_k_reference(std::vector<float>{kNan, -kInfinity, -0.0F, 0.0F, kInfinity, kNan, -1}, 7),
              ElementsAre(4, 2, 3, 6, 1, 0, 5));
}

TEST(RelevanceKey, orders_as_the_reference_does) {
  const std::vector<float> scores{kNan, -kInfinity, -0.0F, 0.0F, kInfinity, kNan, -1, 1e-40F, -1e-40F, -kNan, 1, 1};
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    keys.push_back(vision::relevance_key(scores[i], static_cast<std::uint32_t>(i)));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int32_t> order;
  for (const auto key : keys) order.push_back(static_cast<std::int32_t>(key & 0xFFFFFFFFU));
  EXPECT_EQ(order, vision::top_k_reference(scores, scores.size()));
}

TEST(TopKPatches, inputs_have_ties_zeros_of_both_signs_and_nan) {
  std::vector<float> scores(4096);
  vision::fill_scores_with_ties(scores, 3);
  int nan = 0;
  int negative_zero = 0;
  int positive_zero = 0;
  for (const float score : scores) {
    nan += std::isnan(score);
    negative_zero += score == 0 && std::signbit(score);
    positive_zero += score == 0 && !std::signbit(score);
  }
  EXPECT_GT(nan, 10);
  EXPECT_GT(negative_zero, 5);
  EXPECT_GT(positive_zero, 5);
}

TEST(TopKPatches, is_exact_for_all_kinds_of_shapes) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const auto& [n, k] : std::vector<std::pair<const char*, const char*>>{
             {"1", "1"}, {"7", "1"}, {"196", "64"}, {"196", "196"}, {"300", "299"}}) {
      test::expect_right_and_wrong_told_apart("top_k_patches",
                                              {{"batch", "5"}, {"n", n}, {"k", k}, {"d", "33"}, {"dtype", dtype}});
    }
  }
}

TEST(TopKPatches, check_counts_what_differs) {
  const vision::PatchShape shape{.batch = 1, .n = 3, .d = 2, .k = 2, .element_bytes = 4};
  const std::vector<float> scores{0.5F, 0.7F, 0.7F};
  const std::vector<float> features{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> indices{1, 2};
  std::vector<float> gathered{3, 4, 5, 6};
  const auto wrong = [&] {
    return vision::top_k_check(shape, {.scores = scores,
                                       .features = std::as_bytes(std::span(features)),
                                       .indices_out = indices,
                                       .features_out = std::as_bytes(std::span(gathered))})
        .value;
  };
  EXPECT_EQ(wrong(), 0);
  std::swap(indices[0], indices[1]);  // a tie broken the wrong way
  EXPECT_EQ(wrong(), 2);
  gathered[3] = 6.0000005F;
  EXPECT_EQ(wrong(), 3);
}

TEST(TopKPatches, counts_its_bytes) {
  const auto cost =
      test::cost_of("top_k_patches", {{"batch", "2"}, {"n", "10"}, {"d", "8"}, {"k", "3"}, {"dtype", "bf16"}});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->bytes, 2 * (10 * 4 + 3 * 4 + 2 * 3 * 8 * 2));
  EXPECT_EQ(cost->footprint_bytes, 2 * (10 * 4 + 3 * 4 + (10 + 3) * 8 * 2));
}

TEST(TopKPatches, names_the_numbers_of_a_bad_k) {
  const auto many = test::cost_of("top_k_patches", {{"n", "10"}, {"k", "11"}});
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().kind, ErrorKind::usage);
  EXPECT_EQ(many.error().what, "k is 11, but an image has only n=10 patches");
  EXPECT_EQ(many.error().hint, "set k to 10 or less, or n to 11 or more");
  const auto none = test::cost_of("top_k_patches", {{"k", "0"}});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().what, HasSubstr("k is 0"));
}

}  // namespace
}  // namespace warpmark::workloads
