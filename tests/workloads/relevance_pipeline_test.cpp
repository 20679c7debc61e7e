#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/round.h"
#include "workloads/run_workload.h"
#include "workloads/set_memory.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/relevance_pipeline.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

TEST(RelevancePipeline, runs_all_stages_and_tells_each) {
  const auto& workload = test::workload("relevance_pipeline");
  const auto params =
      resolve_params(workload.params, {{"batch", "2"}, {"side", "64"}, {"d", "8"}, {"k", "3"}, {"budget", "1600"}});
  ASSERT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  ASSERT_TRUE(device.ok());
  measure::RoundOptions options;
  options.stopping.budget_s = 0.05;
  options.warmup.cap_s = 0.02;
  const auto run = measure::measure_round({&workload, "cpu", *params, Mode::hot}, **device, options);
  // How quiet the machine is is not the test's business.
  ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
  EXPECT_EQ(run.workload, "relevance_pipeline");
  EXPECT_LE(run.error->value, 1);
  EXPECT_GT(run.error->value, 0) << "results in f32 differ from fp64 somewhere";
  std::vector<std::string> names;
  for (const auto& metric : run.metrics) {
    names.push_back(metric.id);
    EXPECT_GT(metric.summary.median, 0) << metric.id;
  }
  for (const char* id : {"time", "samples_rate", "stage.texture", "stage.scores", "stage.balance", "stage.top_k"}) {
    EXPECT_THAT(names, testing::Contains(id));
  }
  EXPECT_NEAR(run.metrics.front().samples.front() * run.metrics[3].samples.front(), 2, 1e-9) << run.metrics[3].id;
}

/// From pixels to the patches that are kept, in fp64 from stage to stage.
std::vector<std::int32_t> kept_patches(std::span<const float> rgb, const vision::ScoreShape& shape, std::size_t k) {
  std::vector<double> texture(vision::kTextureOutputs * shape.plane());
  vision::texture_reference(shape.side, shape.side, rgb, texture);
  const auto scores = vision::patch_scores_reference(shape, std::vector<float>(texture.begin(), texture.end()));
  const auto relevance = vision::relevance_reference(std::vector<float>(scores.begin(), scores.end()));
  return vision::top_k_reference(std::vector<float>(relevance.begin(), relevance.end()), k);
}

TEST(RelevancePipeline, hands_each_stage_what_the_one_before_made) {
  auto device = test::small_cpu();
  const auto params = resolve_params(test::workload("relevance_pipeline").params,
                                     {{"batch", "2"}, {"side", "80"}, {"d", "8"}, {"k", "6"}, {"budget", "2000"}});
  ASSERT_TRUE(params.ok());
  constexpr std::uint64_t kSeed = 7;
  auto made = prepare_relevance_pipeline({.device = device, .params = *params, .sets = 2, .seed = kSeed});
  ASSERT_TRUE(made.ok());
  measure::Prepared& prepared = **made;
  constexpr std::size_t kKept = 6;
  const vision::ScoreShape shape{.batch = 2, .side = 80};
  for (const std::size_t set : {1U, 0U}) {
    ASSERT_TRUE(prepared.launch(device.stream(), set).ok());
    const auto check = prepared.check(set);
    ASSERT_TRUE(check.ok());
    EXPECT_LE(check->value, check->tolerance);
    const auto bytes = prepared.stage_output(set);
    const std::span<const std::int32_t> kept(reinterpret_cast<const std::int32_t*>(bytes.data()), bytes.size() / 4);
    ASSERT_EQ(kept.size(), 2 * kKept);
    std::vector<float> rgb(vision::kTextureInputs * shape.pixels());
    fill_random(std::span(rgb), array_seed(kSeed, set, 0), 0.0F, 1.0F);
    for (std::size_t image = 0; image < 2; ++image) {
      const auto pixels = std::span<const float>(rgb).subspan(image * rgb.size() / 2, rgb.size() / 2);
      const auto ours = kept.subspan(image * kKept, kKept);
      EXPECT_THAT(std::vector<std::int32_t>(ours.begin(), ours.end()),
                  testing::ElementsAreArray(kept_patches(pixels, shape, kKept)));
    }
  }
  ASSERT_TRUE(prepared.poison().ok());
  EXPECT_GT(prepared.check(0)->value, prepared.check(0)->tolerance) << "of nothing";
}

/// By hand: a patch without gradients or colour whose left half is dark, and one of edges 3-4-5 and colour 5-12-13.
TEST(PatchScores, are_means_of_edges_and_colour_and_the_spread_of_lightness) {
  const vision::ScoreShape shape{.batch = 1, .side = 32};
  std::vector<float> texture(5 * 32 * 32, 0);
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 16; ++x) {
      const std::size_t first = y * 32 + x, last = (y + 16) * 32 + x + 16;
      texture[first] = x < 8 ? 10 : 30;
      const float planes[] = {50, 5, -12, -3, 4};
      for (std::size_t plane = 0; plane < 5; ++plane) texture[plane * 1024 + last] = planes[plane];
    }
  }
  EXPECT_THAT(vision::patch_scores_reference(shape, texture),
              testing::ElementsAre(0, 0, 0, 5, 0, 0, 0, 13, 10, 0, 0, 0));
  test::expect_right_and_wrong_told_apart("patch_scores", {{"batch", "2"}, {"side", "48"}});
  EXPECT_THAT(test::cost_error("patch_scores", {{"side", "100"}}), HasSubstr("divide by 16"));
}

TEST(RelevancePipeline, costs_what_its_stages_cost) {
  const auto whole = test::cost_of("relevance_pipeline", {});
  ASSERT_TRUE(whole.ok());
  const auto texture = test::cost_of("fused_texture", {});
  const auto scores = test::cost_of("patch_scores", {});
  const auto balance = test::cost_of("opponent_balance", {});
  const auto top_k = test::cost_of("top_k_patches", {});
  EXPECT_DOUBLE_EQ(whole->bytes, texture->bytes + scores->bytes + balance->bytes + top_k->bytes);
  EXPECT_DOUBLE_EQ(whole->flops, texture->flops + scores->flops + balance->flops + top_k->flops);
  // Of 64 images of 196 patches: the texture's 5 planes, 3 scores and 1 relevance, which two stages share.
  const std::int64_t stage_output = 64 * (5 * 224 * 224 + (3 + 1) * 196) * 4;
  EXPECT_EQ(whole->footprint_bytes, texture->footprint_bytes + scores->footprint_bytes + balance->footprint_bytes +
                                        top_k->footprint_bytes - stage_output);
}

TEST(RelevancePipeline, refuses_what_a_stage_refuses) {
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"side", "100"}}), HasSubstr("divide by 16"));
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"k", "500"}}), HasSubstr("n=196"));
  EXPECT_THAT(test::cost_error("relevance_pipeline", {{"budget", "10"}}), HasSubstr("64"));
}

}  // namespace
}  // namespace warpmark::workloads
