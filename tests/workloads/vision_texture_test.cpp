#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "stats/random.h"
#include "workloads/run_workload.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/simd_kernels.h"
#include "workloads/vision/simd_math.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

std::vector<double> reference_of(std::int64_t h, std::int64_t w, const std::vector<float>& rgb) {
  std::vector<double> out(vision::kTextureOutputs * static_cast<std::size_t>(h * w));
  vision::texture_reference(h, w, rgb, out);
  return out;
}

TEST(TextureReference, gives_the_known_colours) {
  // Lab of sRGB white, black, mid grey and pure red for the D65 of IEC 61966-2-1; Lindbloom's calculator gives
  // 53.2408, 80.0925, 67.2032 for red with the five-digit white.
  const auto lab = reference_of(1, 4, {1, 0, 0.5F, 1, 1, 0, 0.5F, 0, 1, 0, 0.5F, 0});
  EXPECT_NEAR(lab[0], 100.0, 1e-9);
  EXPECT_NEAR(lab[1], 0.0, 1e-9);
  EXPECT_NEAR(lab[2], 53.3890, 1e-3);
  EXPECT_NEAR(lab[3], 53.24, 0.02);
  for (std::size_t grey = 0; grey < 3; ++grey) {
    EXPECT_NEAR(lab[4 + grey], 0.0, 1e-9);
    EXPECT_NEAR(lab[8 + grey], 0.0, 1e-9);
  }
  EXPECT_NEAR(lab[7], 80.09, 0.05);
  EXPECT_NEAR(lab[11], 67.20, 0.05);
}

TEST(TextureReference, is_continuous_where_the_formulas_meet) {
  const double below = std::nextafter(vision::kLabThreshold, 0.0);
  EXPECT_NEAR(vision::kLabSlope * below + vision::kLabOffset, std::cbrt(vision::kLabThreshold), 1e-12);
  const auto c = static_cast<float>(vision::kSrgbThreshold);
  const auto at = reference_of(1, 2, {c, std::nextafterf(c, 1), c, std::nextafterf(c, 1), c, std::nextafterf(c, 1)});
  EXPECT_NEAR(at[0], at[1], 1e-4);
}

TEST(TextureReference, replicates_the_border_in_the_gradients) {
  // White beside black: 4 x 100 across the edge, seen from both columns; rows are alike.
  const auto out = reference_of(2, 3, {0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1});
  const std::vector<double> x(out.begin() + 18, out.begin() + 24);
  const std::vector<double> y(out.begin() + 24, out.end());
  const double expected[] = {400, 400, 0, 400, 400, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(x[i], expected[i], 1e-9);
  for (const double value : y) EXPECT_NEAR(value, 0, 1e-9);
}

TEST(SimdMath, stays_within_its_stated_errors) {
  double power = 0;
  double root = 0;
  double exponential = 0;
  double tangent = 0;
  constexpr int kSteps = 400000;
  for (int i = 0; i <= kSteps; ++i) {
    const double part = static_cast<double>(i) / kSteps;
    const auto c = static_cast<float>(0.04045 + (1 - 0.04045) * part);
    power = std::max(power, std::fabs(vision::srgb_power<true>(c) - std::pow((c + 0.055) / 1.055, 2.4)));
    const auto t = static_cast<float>(std::exp2(-90 + 180 * part));
    root = std::max(root, std::fabs(vision::cube_root<true>(t) / std::cbrt(static_cast<double>(t)) - 1));
    const auto x = static_cast<float>(-30 + 60 * part);
    exponential = std::max(exponential, std::fabs(vision::exponential<true>(x) / std::exp(static_cast<double>(x)) - 1) /
                                            (3e-7 + 8e-8 * std::fabs(x)));
    tangent = std::max(tangent, std::fabs(vision::hyperbolic_tangent<true>(x) - std::tanh(static_cast<double>(x))));
  }
  EXPECT_LT(power, 3e-7);
  EXPECT_LT(root, 4e-7);
  EXPECT_LT(exponential, 1);
  EXPECT_LT(tangent, 3e-7);
}

TEST(SimdKernels, agree_with_the_reference_on_every_instruction_set) {
  constexpr std::size_t kCount = 1037;
  std::vector<float> rgb(3 * kCount);
  stats::fill_uniform(std::span(rgb), 5, 0.0F, 1.0F);
  const auto expected = reference_of(1, kCount, rgb);
  for (const auto& kernels : vision::simd_kernels()) {
    SCOPED_TRACE(kernels.target);
    std::vector<float> lab(3 * kCount);
    kernels.lab({.rgb = {rgb.data(), rgb.data() + kCount, rgb.data() + 2 * kCount},
                 .lab = {lab.data(), lab.data() + kCount, lab.data() + 2 * kCount},
                 .count = kCount});
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const std::span<const double> part(expected.data() + channel * kCount, kCount);
      EXPECT_LT(stats::relative_error(std::span<const float>(lab.data() + channel * kCount, kCount), part), 3e-6);
    }
  }
}

TEST(FusedTexture, is_right_for_all_kinds_of_shapes) {
  for (const char* impl : {"fused", "unfused"}) {
    for (const auto& [h, w] : std::vector<std::pair<const char*, const char*>>{
             {"1", "1"}, {"1", "2"}, {"2", "1"}, {"3", "3"}, {"5", "67"}, {"64", "16"}, {"33", "130"}, {"97", "31"}}) {
      test::expect_right_and_wrong_told_apart("fused_texture", {{"n", "3"}, {"h", h}, {"w", w}, {"impl", impl}});
    }
  }
}

TEST(FusedTexture, fails_the_check_when_one_value_is_wrong) {
  constexpr std::int64_t kSide = 16;
  std::vector<float> rgb(3 * kSide * kSide);
  stats::fill_uniform(std::span(rgb), 5, 0.0F, 1.0F);
  const auto expected = reference_of(kSide, kSide, rgb);
  std::vector<float> out(expected.begin(), expected.end());
  const auto error_of = [&](const std::vector<float>& result) {
    std::array<stats::ErrorNorm, vision::kTextureOutputs> norms;
    vision::add_texture_errors(kSide, kSide, rgb, result, norms);
    std::array<double, vision::kTextureOutputs> errors{};
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = norms[i].value();
    return vision::texture_check(errors, "test");
  };
  EXPECT_LE(error_of(out).value, error_of(out).tolerance);
  out[4 * kSide * kSide + 7] += 0.1F;
  EXPECT_GT(error_of(out).value, error_of(out).tolerance);
  out[4 * kSide * kSide + 7] = std::nanf("");
  EXPECT_EQ(error_of(out).value, stats::kFailedError);
}

TEST(FusedTexture, counts_its_bytes_and_flops) {
  const auto fused = test::cost_of("fused_texture", {{"n", "2"}, {"h", "10"}, {"w", "10"}});
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(fused->bytes, 2 * 100 * 8 * 4);
  EXPECT_EQ(fused->flops, 2 * 100 * 47);
  EXPECT_EQ(fused->footprint_bytes, 2 * 100 * 8 * 4);
  const auto unfused = test::cost_of("fused_texture", {{"n", "2"}, {"h", "10"}, {"w", "10"}, {"impl", "unfused"}});
  ASSERT_TRUE(unfused.ok());
  EXPECT_EQ(unfused->bytes, fused->bytes);
  EXPECT_EQ(unfused->footprint_bytes, 2 * 100 * 14 * 4);
}

TEST(FusedTexture, names_the_numbers_of_a_bad_shape) {
  const auto zero = test::cost_of("fused_texture", {{"h", "0"}});
  ASSERT_FALSE(zero.ok());
  EXPECT_EQ(zero.error().kind, ErrorKind::usage);
  EXPECT_THAT(zero.error().what, HasSubstr("h is 0"));
  const auto huge = test::cost_of("fused_texture", {{"h", "4000000000000"}, {"w", "4000000000000"}});
  ASSERT_FALSE(huge.ok());
  EXPECT_THAT(huge.error().what, HasSubstr("h=4000000000000 * w=4000000000000"));
}

TEST(FusedTexture, says_when_memory_does_not_suffice) {
  auto device = test::small_cpu();
  device.device_info.memory_bytes = 1000;
  const auto& workload = test::workload("fused_texture");
  const auto params = resolve_params(workload.params, {{"n", "1"}});
  ASSERT_TRUE(params.ok());
  const auto prepared = workload.prepare(workload, {.device = device, .params = *params});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().kind, ErrorKind::environment);
}

}  // namespace
}  // namespace warpmark::workloads
