// The vision workloads on the GPU: right for all kinds of shapes, and what they refuse.
#include <array>
#include <string>
#include <vector>

#include "cuda/gpu.h"

namespace warpmark::cuda_tests {
namespace {

class CudaVision : public Gpu {
 protected:
  /// Launches one of two poisoned sets: that one must pass its check, the other must not.
  void expect_right(const char* id, const Params& params) {
    SCOPED_TRACE(std::string(id) + " " + to_text(params));
    const device::Support support = implementation(id).supports(device_->info(), params);
    ASSERT_TRUE(support.available) << support.reason;
    auto prepared = implementation(id).prepare({*device_, params, 2, 42});
    ASSERT_TRUE(prepared.ok()) << prepared.error().what;
    ASSERT_TRUE((*prepared)->poison().ok());
    ASSERT_TRUE((*prepared)->launch(device_->stream(), 1).ok());
    const Status done = device_->synchronize();
    ASSERT_TRUE(done.ok()) << done.error().what;
    const auto right = (*prepared)->check(1);
    ASSERT_TRUE(right.ok()) << right.error().what;
    EXPECT_LE(right->value, right->tolerance) << right->norm;
    const auto unwritten = (*prepared)->check(0);
    ASSERT_TRUE(unwritten.ok()) << unwritten.error().what;
    EXPECT_GT(unwritten->value, unwritten->tolerance) << "poisoned outputs pass";
  }
};

Params texture_params(std::int64_t n, std::int64_t h, std::int64_t w, const char* impl) {
  return params_of({{"n", n}, {"h", h}, {"w", w}, {"impl", std::string(impl)}});
}

Params patch_params(const std::array<std::int64_t, 4>& shape, const char* dtype) {
  return params_of(
      {{"batch", shape[0]}, {"n", shape[1]}, {"d", shape[2]}, {"k", shape[3]}, {"dtype", std::string(dtype)}});
}

Params balance_params(std::int64_t batch, std::int64_t n, std::int64_t budget) {
  return params_of({{"batch", batch}, {"n", n}, {"budget", budget}});
}

TEST_F(CudaVision, texture_is_right_at_tile_edges_and_with_vectors_or_without) {
  // Tiles are 8 rows high and at most 256 columns (64 where the width is no multiple of 4) wide.
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{1, 1},     {1, 4},    {4, 1},    {2, 2},    {8, 8},
                                                                 {9, 67},    {33, 130}, {15, 256}, {17, 260}, {29, 300},
                                                                 {31, 1000}, {2, 516},  {224, 224}};
  for (const char* impl : {"fused", "unfused"}) {
    for (const auto& [h, w] : sizes) expect_right("fused_texture", texture_params(3, h, w, impl));
  }
  expect_right("fused_texture", texture_params(64, 224, 224, "fused"));
}

TEST_F(CudaVision, texture_refuses_more_pixels_than_a_launch_can_index) {
  const auto& texture = implementation("fused_texture");
  EXPECT_TRUE(texture.supports(device_->info(), texture_params(64, 224, 224, "fused")).available);
  const device::Support support = texture.supports(device_->info(), texture_params(1 << 20, 224, 224, "fused"));
  EXPECT_FALSE(support.available);
  EXPECT_NE(support.reason.find("n=1048576"), std::string::npos) << support.reason;
}

TEST_F(CudaVision, top_k_is_exact_with_ties_and_nan) {
  for (const auto& shape : std::vector<std::array<std::int64_t, 4>>{{1, 1, 1, 1},
                                                                    {5, 7, 3, 7},
                                                                    {5, 7, 33, 1},
                                                                    {300, 50, 16, 13},
                                                                    {64, 196, 512, 64},
                                                                    {3, 196, 33, 196},
                                                                    {2, 1500, 8, 700},
                                                                    {1, 8192, 4, 8192}}) {
    for (const char* dtype : {"f32", "bf16"}) expect_right("top_k_patches", patch_params(shape, dtype));
  }
}

TEST_F(CudaVision, top_k_refuses_more_scores_than_fit_a_block) {
  const device::Support support =
      implementation("top_k_patches").supports(device_->info(), patch_params({1, 8193, 4, 2}, "f32"));
  EXPECT_FALSE(support.available);
  EXPECT_NE(support.reason.find("n=8193 is above 8192"), std::string::npos) << support.reason;
}

TEST_F(CudaVision, balance_splits_exactly_from_the_least_to_the_most_budget) {
  for (const std::int64_t budget : {12544LL, 12545LL, 39200LL, 70000LL, 78399LL, 78400LL, 100000LL}) {
    expect_right("opponent_balance", balance_params(64, 196, budget));
  }
  for (const auto& [n, budget] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64},
                                                                                    {1, 500},
                                                                                    {2, 700},
                                                                                    {31, 2000},
                                                                                    {512, 150000},
                                                                                    {513, 150000},
                                                                                    {1025, 300000},
                                                                                    {3000, 900000},
                                                                                    {8192, 1000000},
                                                                                    {8192, 3200000}}) {
    expect_right("opponent_balance", balance_params(3, n, budget));
  }
}

TEST_F(CudaVision, patches_of_any_number_have_their_scores) {
  for (const auto& [batch, side] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{64, 224}, {1, 16}, {3, 80}, {2, 1024}}) {
    expect_right("patch_scores", params_of({{"batch", batch}, {"side", side}}));
  }
}

TEST_F(CudaVision, stages_take_what_the_one_before_made) {
  const auto made = [&](const char* id, const Params& params, std::span<const std::span<std::byte>> given) {
    auto prepared = implementation(id).prepare({*device_, params, 1, 42, given});
    EXPECT_TRUE(prepared.ok());
    return std::move(*prepared);
  };
  const auto texture = made("fused_texture", texture_params(4, 64, 64, "fused"), {});
  std::array given{texture->stage_output(0)};
  const auto scores = made("patch_scores", params_of({{"batch", std::int64_t{4}}, {"side", std::int64_t{64}}}), given);
  given = {scores->stage_output(0)};
  const auto balance = made("opponent_balance", balance_params(4, 16, 3000), given);
  given = {balance->stage_output(0)};
  const auto top = made("top_k_patches", patch_params({4, 16, 8, 5}, "f32"), given);
  for (auto* stage : {texture.get(), scores.get(), balance.get(), top.get()}) {
    ASSERT_TRUE(stage->launch(device_->stream(), 0).ok());
  }
  ASSERT_TRUE(device_->synchronize().ok());
  for (auto* stage : {texture.get(), scores.get(), balance.get(), top.get()}) {
    const auto right = stage->check(0);
    ASSERT_TRUE(right.ok()) << right.error().what;
    EXPECT_LE(right->value, right->tolerance) << right->norm;
  }
  // Nothing that follows is right any more when what it took is taken away.
  ASSERT_TRUE(scores->poison().ok());
  EXPECT_GT(balance->check(0)->value, balance->check(0)->tolerance);
}

TEST_F(CudaVision, balance_refuses_more_patches_than_fit_a_block) {
  const device::Support support =
      implementation("opponent_balance").supports(device_->info(), balance_params(1, 8193, 8193 * 64));
  EXPECT_FALSE(support.available);
  EXPECT_NE(support.reason.find("n=8193 is above 8192"), std::string::npos) << support.reason;
}

}  // namespace
}  // namespace warpmark::cuda_tests
