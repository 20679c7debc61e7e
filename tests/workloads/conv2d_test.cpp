// conv2d on the CPU: every pass, layout and type, odd shapes, its check, its cost and what it refuses.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "workloads/conv2d/conv2d_cpu.h"
#include "workloads/onednn.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

constexpr std::array kPasses{"forward", "backward_data", "backward_weights"};
constexpr std::array kLayouts{"nchw", "nhwc"};

Overrides with(Overrides overrides, const char* layout, const char* pass, const char* dtype) {
  overrides.insert(overrides.end(), {{"layout", layout}, {"pass", pass}, {"dtype", dtype}});
  return overrides;
}

void expect_every_way_right(const Overrides& shape) {
  for (const char* dtype : {"f32", "bf16"}) {
    if (!test::support_on_cpu("conv2d", {{"dtype", dtype}}).available) continue;
    for (const char* layout : kLayouts) {
      for (const char* pass : kPasses) {
        test::expect_right_and_wrong_told_apart("conv2d", with(shape, layout, pass, dtype));
      }
    }
  }
}

TEST(Conv2dOnCpu, tells_right_from_wrong_on_small_shapes) {
  expect_every_way_right({{"n", "2"}, {"c", "3"}, {"h", "7"}, {"w", "9"}, {"k", "5"}, {"r", "3"}});
  expect_every_way_right({{"n", "1"}, {"c", "1"}, {"h", "1"}, {"w", "1"}, {"k", "1"}, {"r", "1"}});
}

TEST(Conv2dOnCpu, tells_right_from_wrong_with_stride_and_padding) {
  expect_every_way_right({{"n", "2"}, {"c", "4"}, {"h", "9"}, {"w", "8"}, {"k", "6"}, {"r", "3"}, {"stride", "2"}});
  expect_every_way_right({{"n", "1"}, {"c", "4"}, {"h", "12"}, {"w", "12"}, {"k", "4"}, {"r", "5"}, {"pad", "0"}});
  // The library's scratchpad overflows here.
  expect_every_way_right({{"n", "3"}, {"c", "15"}, {"h", "14"}, {"w", "30"}, {"k", "5"}, {"r", "1"}, {"stride", "2"}});
}

TEST(Conv2dOnCpu, tells_right_from_wrong_where_the_check_samples) {
  expect_every_way_right({{"n", "4"}, {"c", "64"}, {"h", "28"}, {"w", "28"}, {"k", "64"}, {"r", "3"}});
}

TEST(Conv2dOnCpu, says_how_it_runs) {
  test::Prepared prepared("conv2d", {{"n", "1"}, {"c", "16"}, {"h", "8"}, {"w", "8"}, {"k", "16"}}, 1);
  ASSERT_TRUE(prepared.ok());
  EXPECT_NE(prepared.note("algorithm").find("oneDNN " + onednn_version()), std::string::npos);
  EXPECT_NE(prepared.note("reordered in the timed region"), "");
  EXPECT_EQ(prepared.note("weights"), "in the kernel's layout before timing");
}

TEST(Conv2dOnCpu, names_what_the_library_lacks) {
  EXPECT_EQ(test::support_on_cpu("conv2d", {{"dtype", "tf32"}}).reason,
            "oneDNN " + onednn_version() + " has no tf32 convolution on the CPU");
  EXPECT_FALSE(test::support_on_cpu("conv2d", {{"dtype", "f16"}}).available);
}

TEST(Conv2dCost, counts_every_product_and_every_tensor_once) {
  for (const char* pass : kPasses) {
    const auto cost = test::cost_of(
        "conv2d", {{"n", "2"}, {"c", "3"}, {"h", "8"}, {"w", "10"}, {"k", "4"}, {"r", "3"}, {"pass", pass}});
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(cost->flops, 2.0 * 2 * 4 * 8 * 10 * 3 * 9);
    EXPECT_EQ(cost->bytes, 4.0 * (2 * 3 * 80 + 4 * 3 * 9 + 2 * 4 * 80));
    EXPECT_EQ(cost->flop_type, "f32");
  }
  const auto strided = test::cost_of(
      "conv2d",
      {{"n", "1"}, {"c", "1"}, {"h", "9"}, {"w", "9"}, {"k", "1"}, {"r", "3"}, {"stride", "2"}, {"pad", "0"}});
  ASSERT_TRUE(strided.ok());
  EXPECT_EQ(strided->flops, 2.0 * 16 * 9);  // 4 x 4 outputs
}

TEST(Conv2dCost, refuses_shapes_that_make_no_sense) {
  EXPECT_EQ(test::cost_error("conv2d", {{"c", "0"}}),
            "c is 0, but must be at least 1 | set c to 1 or more: --set c=...");
  EXPECT_EQ(test::cost_error("conv2d", {{"h", "4"}, {"w", "4"}, {"r", "7"}, {"pad", "0"}}),
            "a kernel of r=7 does not fit an image of h=4 w=4 with pad=0 | set r lower, or h, w or pad higher");
  EXPECT_EQ(test::cost_error("conv2d", {{"r", "3"}, {"pad", "3"}}),
            "pad is 3, but must be below r=3: outputs would see only padding | set pad to 2 or less");
  EXPECT_EQ(test::cost_error("conv2d", {{"pad", "-2"}}),
            "pad is -2, but must be at least -1 | set pad to -1 or more: --set pad=...");
  EXPECT_NE(test::cost_error("conv2d", {{"n", "1099511627776"}, {"c", "1048576"}}).find("is above 2^62"),
            std::string::npos);
}

// The check by itself, with a result made by the definition.

struct Problem {
  ConvShape shape;
  std::vector<float> x;
  std::vector<float> w;
  std::vector<float> y;
};

Problem forward_problem(std::int64_t images) {
  const auto params =
      resolve_params(test::workload("conv2d").params,
                     {{"n", std::to_string(images)}, {"c", "16"}, {"h", "14"}, {"w", "14"}, {"k", "24"}, {"r", "3"}});
  Problem problem{*conv_shape(*params), {}, {}, {}};
  const ConvShape& s = problem.shape;
  for (std::int64_t i = 0; i < s.input_elements(); ++i) problem.x.push_back(static_cast<float>(i * 7 % 19) - 9);
  for (std::int64_t i = 0; i < s.weight_elements(); ++i) problem.w.push_back(static_cast<float>(i * 5 % 11) - 5);
  for (std::int64_t i = 0; i < s.output_elements(); ++i) {
    const std::int64_t q = i % s.q;
    const std::int64_t p = i / s.q % s.p;
    const std::int64_t k = i / (s.q * s.p) % s.k;
    const std::int64_t n = i / (s.q * s.p * s.k);
    double sum = 0;
    for (std::int64_t c = 0; c < s.c; ++c) {
      for (std::int64_t e = 0; e < 9; ++e) {
        const std::int64_t row = p + e / 3 - 1;
        const std::int64_t column = q + e % 3 - 1;
        if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
        sum += static_cast<double>(problem.x[static_cast<std::size_t>(((n * s.c + c) * s.h + row) * s.w + column)]) *
               static_cast<double>(problem.w[static_cast<std::size_t>((k * s.c + c) * 9 + e)]);
      }
    }
    problem.y.push_back(static_cast<float>(sum));
  }
  return problem;
}

ErrorCheck checked(const Problem& problem) {
  return check_conv2d(
      problem.shape,
      {std::as_bytes(std::span(problem.x)), std::as_bytes(std::span(problem.w)), std::as_bytes(std::span(problem.y))},
      3);
}

TEST(CheckConv2d, finds_a_single_wrong_element_by_projection_or_among_all) {
  for (const std::int64_t images : {1, 32}) {  // every element; elements sampled and images projected
    Problem problem = forward_problem(images);
    const auto good = checked(problem);
    EXPECT_LE(good.value, good.tolerance) << good.reference;
    for (const std::size_t at : {std::size_t{0}, problem.y.size() / 3, problem.y.size() - 1}) {
      const float right = problem.y[at];
      for (const float garbage : {1e5F, std::nanf(""), INFINITY}) {
        problem.y[at] = garbage;
        const auto bad = checked(problem);
        EXPECT_GT(bad.value, bad.tolerance) << at << " " << garbage << " " << bad.reference;
      }
      problem.y[at] = right;
    }
  }
}

}  // namespace
}  // namespace warpmark::workloads
