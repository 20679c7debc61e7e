// gemm on the CPU: every library and type it supports, its check, its cost and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/float_types.h"
#include "device/cpu/processor.h"
#include "workloads/gemm/gemm_cpu.h"
#include "workloads/onednn.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

Overrides gemm(const char* m, const char* n, const char* k, const char* dtype, const char* impl = "auto") {
  return {{"m", m}, {"n", n}, {"k", k}, {"dtype", dtype}, {"impl", impl}};
}

TEST(GemmOnCpu, tells_right_from_wrong_for_every_library_and_type) {
  const std::vector<std::pair<const char*, const char*>> ways{{"f32", "openblas"}, {"f64", "openblas"},
                                                              {"f32", "onednn"},   {"int8", "onednn"},
                                                              {"bf16", "onednn"},  {"f32", "auto"}};
  for (const auto& [dtype, impl] : ways) {
    if (!test::support_on_cpu("gemm", gemm("8", "8", "8", dtype, impl)).available) continue;
    for (const auto& [m, n, k] :
         {std::tuple{"1", "1", "4"}, {"65", "33", "128"}, {"65", "33", "127"}, {"1", "1", "1"}}) {
      if (!test::support_on_cpu("gemm", gemm(m, n, k, dtype, impl)).available) continue;  // see the next test
      test::expect_right_and_wrong_told_apart("gemm", gemm(m, n, k, dtype, impl));
    }
    test::expect_right_and_wrong_told_apart("gemm", gemm("320", "256", "272", dtype, impl));  // checked by projections
  }
}

TEST(GemmOnCpu, has_a_bf16_product_exactly_where_the_cpu_does) {
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "bf16")).available, cpu_multiplies_bf16().available);
}

TEST(GemmOnCpu, leaves_out_only_the_depths_that_crash_the_library_with_amx) {
  const bool amx = device::has_amx();
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("65", "33", "127", "int8")).available, !amx);
  EXPECT_TRUE(test::support_on_cpu("gemm", gemm("65", "33", "128", "int8")).available);
  EXPECT_TRUE(test::support_on_cpu("gemm", gemm("65", "33", "127", "f32", "onednn")).available);
  if (amx) {
    EXPECT_EQ(test::support_on_cpu("gemm", gemm("65", "33", "126", "int8")).hint, "--set k=128");
    EXPECT_TRUE(test::support_on_cpu("gemm", gemm("65", "33", "126", "bf16")).available);
  }
}

TEST(GemmOnCpu, says_what_it_tried_and_what_it_runs) {
  test::Prepared tried("gemm", gemm("64", "64", "64", "f32"), 1);
  ASSERT_TRUE(tried.ok());
  EXPECT_NE(tried.note("tried").find("openblas"), std::string::npos);
  EXPECT_NE(tried.note("tried").find("onednn"), std::string::npos);
  EXPECT_TRUE(tried.note("library") == "openblas" || tried.note("library") == "onednn");
  test::Prepared asked("gemm", gemm("64", "64", "64", "f32", "onednn"), 1);
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.note("tried"), "");
  EXPECT_EQ(asked.note("library"), "onednn");
}

TEST(GemmOnCpu, names_the_library_that_lacks_a_type) {
  const std::string onednn = "oneDNN " + onednn_version();
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "f16")).reason,
            onednn + " has no f16 matrix product on the CPU");
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "fp8")).reason,
            onednn + " has no fp8 matrix product on the CPU");
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "tf32")).reason,
            onednn + " has no tf32 matrix product on the CPU");
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "int8", "openblas")).reason,
            "OpenBLAS multiplies f32 and f64, not int8");
  EXPECT_EQ(test::support_on_cpu("gemm", gemm("8", "8", "8", "f32", "cublaslt")).reason,
            "cuBLASLt runs on NVIDIA GPUs");
}

TEST(GemmCost, is_two_mnk_and_each_matrix_once) {
  const auto f32 = test::cost_of("gemm", gemm("2", "3", "5", "f32"));
  ASSERT_TRUE(f32.ok());
  EXPECT_EQ(f32->flops, 60);
  EXPECT_EQ(f32->bytes, 4 * (2 * 5 + 5 * 3 + 2 * 3));
  EXPECT_EQ(f32->footprint_bytes, 4 * (2 * 5 + 5 * 3 + 2 * 3));
  EXPECT_EQ(f32->flop_type, "f32");
  const auto int8 = test::cost_of("gemm", gemm("2", "3", "5", "int8"));
  ASSERT_TRUE(int8.ok());
  EXPECT_EQ(int8->bytes, 2 * 5 + 5 * 3 + 4 * 2 * 3);
  const auto fp8 = test::cost_of("gemm", gemm("2", "3", "5", "fp8"));
  ASSERT_TRUE(fp8.ok());
  EXPECT_EQ(fp8->bytes, 2 * 5 + 5 * 3 + 2 * 2 * 3);
}

TEST(GemmCost, refuses_shapes_that_make_no_sense) {
  EXPECT_EQ(test::cost_error("gemm", gemm("0", "8", "8", "f32")),
            "m is 0, but must be at least 1 | set m to 1 or more: --set m=...");
  EXPECT_EQ(test::cost_error("gemm", gemm("8", "8", "-3", "f32")),
            "k is -3, but must be at least 1 | set k to 1 or more: --set k=...");
  EXPECT_EQ(test::cost_error("gemm", gemm("4194304", "4194304", "4194304", "f32")),
            "the product 2=2 * m=4194304 * n=4194304 * k=4194304 is above 2^62 | choose a smaller shape with --set");
}

// The check by itself, on products made here.

const GemmShape kSmall{.m = 17, .n = 23, .k = 9, .dtype = "f32"};

std::vector<float> product(const GemmShape& shape, const std::vector<float>& a, const std::vector<float>& b) {
  const auto n = static_cast<std::size_t>(shape.n);
  const auto k = static_cast<std::size_t>(shape.k);
  std::vector<float> c(static_cast<std::size_t>(shape.m) * n);
  for (std::size_t i = 0; i < c.size(); ++i) {
    double sum = 0;
    for (std::size_t t = 0; t < k; ++t)
      sum += static_cast<double>(a[i / n * k + t]) * static_cast<double>(b[t * n + i % n]);
    c[i] = static_cast<float>(sum);
  }
  return c;
}

std::vector<float> ramp(std::int64_t count, int period) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(i % period) / static_cast<float>(period) - 0.4F);
  return values;
}

ErrorCheck checked(const GemmShape& shape, const std::vector<float>& a, const std::vector<float>& b,
                   const std::vector<float>& c) {
  return check_gemm(shape, {std::as_bytes(std::span(a)), std::as_bytes(std::span(b)), std::as_bytes(std::span(c))}, 5);
}

void expect_single_wrong_elements_found(const GemmShape& shape) {
  const auto a = ramp(shape.m * shape.k, 13);
  const auto b = ramp(shape.k * shape.n, 11);
  const auto right = product(shape, a, b);
  const auto good = checked(shape, a, b, right);
  EXPECT_LE(good.value, good.tolerance);
  for (const std::size_t at : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
    for (const float garbage : {1e3F, std::nanf(""), -INFINITY}) {
      auto wrong = right;
      wrong[at] = garbage;
      const auto bad = checked(shape, a, b, wrong);
      EXPECT_GT(bad.value, bad.tolerance) << at << " " << garbage;
    }
  }
}

TEST(CheckGemm, finds_a_single_wrong_element) {
  expect_single_wrong_elements_found(kSmall);
  expect_single_wrong_elements_found({.m = 300, .n = 290, .k = 280, .dtype = "f32"});  // above 2^24: projections
}

TEST(CheckGemm, estimates_the_true_relative_error_from_projections) {
  const GemmShape shape{.m = 300, .n = 290, .k = 280, .dtype = "f32"};
  const auto a = ramp(shape.m * shape.k, 13);
  const auto b = ramp(shape.k * shape.n, 11);
  auto c = product(shape, a, b);
  double square = 0;
  double changed = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    square += static_cast<double>(c[i]) * static_cast<double>(c[i]);
    const float step = (i * 2654435761U) % 2 == 0 ? 1e-3F : -1e-3F;
    c[i] += step;
    changed += 1e-6;
  }
  const auto check = checked(shape, a, b, c);
  EXPECT_NEAR(check.value / std::sqrt(changed / square), 1.0, 0.35);
}

TEST(CheckGemm, counts_wrong_integers_exactly) {
  const GemmShape shape{.m = 4, .n = 4, .k = 4, .dtype = "int8"};
  const std::vector<std::int8_t> ones(16, 1);
  std::vector<std::int32_t> c(16, 4);
  const auto check = [&] {
    return check_gemm(shape,
                      {std::as_bytes(std::span(ones)), std::as_bytes(std::span(ones)), std::as_bytes(std::span(c))}, 5);
  };
  EXPECT_EQ(check().value, 0);
  EXPECT_EQ(check().tolerance, 0);
  c[3] = 5;
  c[9] = -1;
  EXPECT_EQ(check().value, 2);
}

}  // namespace
}  // namespace warpmark::workloads
